"""What is answered under which path."""
