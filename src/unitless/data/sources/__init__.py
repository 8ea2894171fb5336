"""Sources of rows: files of every format, frames, arrays, mappings, pipes; read in chunks with their places."""
