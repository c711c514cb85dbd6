"""Reading and changing files. Open `read` and `edit` first; `file_text` is how text is kept."""
