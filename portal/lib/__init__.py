"""Small tools without models or apps. Imports nothing of ours."""
