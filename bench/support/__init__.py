"""What the scripts of this folder share; not scripts themselves."""
