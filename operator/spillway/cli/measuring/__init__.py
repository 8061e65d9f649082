"""What `spillway bench` is asked, and what it keeps and prints."""
