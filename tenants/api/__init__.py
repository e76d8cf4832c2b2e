"""What every part of the REST API is made of, and the operations on people and the audit trail."""
