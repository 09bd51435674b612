collect_ignore = ["user_script.py"]  # with deliberate mistakes
