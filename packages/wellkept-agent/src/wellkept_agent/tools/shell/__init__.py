"""The shell: running commands, and knowing what a command line does. Open `bash` first."""
