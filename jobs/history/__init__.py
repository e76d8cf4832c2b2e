"""What slurmdbd knows of jobs that ended: read by workers, kept beside the rows that the observer wrote."""
