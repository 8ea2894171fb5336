"""Any source of rows: files of every format, frames, arrays, mappings, pipes; each gives chunks with their place."""
