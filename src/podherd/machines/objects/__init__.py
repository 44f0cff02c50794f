"""What pods need of the API server: which objects they refer to, who needs what, when to ask anew."""
