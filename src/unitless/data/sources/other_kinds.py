"""Recognizes kinds of files that cannot be read, by their first bytes, and tells what to do with each."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_BYTES = 512  # bytes that are enough to recognize all kinds


@dataclass(frozen=True)
class OtherKind:
    """A kind of file that cannot be read.

    Args:
        what: the kind in words.
        advice: what to do with such a file.
        magic: the bytes of such a file at the place `at`.
        at: the place of these bytes.
        binary: whether the file must also have a zero byte, because text may begin in the same way.
    """

    what: str
    advice: str
    magic: tuple[bytes, ...]
    at: int = 0
    binary: bool = False


_SAVE_AS_CSV = "save it as CSV"
_UNPACK = "unpack it, and give the files in it"
KINDS = (
    OtherKind("an Excel file", _SAVE_AS_CSV, (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",)),
    OtherKind("a model file", "give the data here, such as a CSV file", (b'{"__metadata__":{"unitless"',), 8),
    OtherKind("a 7z archive", _UNPACK, (b"7z\xbc\xaf\x27\x1c",)),
    OtherKind("a rar archive", _UNPACK, (b"Rar!\x1a\x07",)),
    OtherKind("a tar archive", _UNPACK, (b"ustar\x00", b"ustar "), 257),
    OtherKind("an SQLite database", "write the table that is meant to a CSV file", (b"SQLite format 3\x00",)),
    OtherKind(
        "a pickle of Python",
        "load it yourself, if you trust it, and give the frame",
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    ),
    OtherKind("an HDF5 file", "load it yourself, and give the frame", (b"\x89HDF\r\n\x1a\n",)),
    OtherKind("a file of NumPy", "load it with numpy.load, and give the array", (b"\x93NUMPY",)),
    OtherKind("an ORC file", "write it as Parquet", (b"ORC",), binary=True),
    OtherKind("an Avro file", "write it as Parquet", (b"Obj\x01",)),
    OtherKind("a Stata file", _SAVE_AS_CSV, (b"<stata_dta>",)),
    OtherKind("an SPSS file", _SAVE_AS_CSV, (b"$FL2", b"$FL3")),
    OtherKind("an R data file", "write the table that is meant with write.csv", (b"RDX2\n", b"RDX3\n", b"X\n\x00\x00")),
    OtherKind("a PDF document", "it holds no table that can be read", (b"%PDF-",)),
    OtherKind("a picture", "it holds no table", (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")),
    OtherKind(
        "a web page",
        "perhaps the address does not give the file itself",
        (b"<!DOCTYPE html", b"<!doctype html", b"<html"),
    ),
    OtherKind("an XML file", _SAVE_AS_CSV, (b"<?xml",)),
)
_OFFICE = (b"[Content_Types].xml", b"xl/", b"_rels/.rels", b"docProps/")
_ZIP = b"PK\x03\x04"


def of_content(head: bytes) -> OtherKind | None:
    """Return the kind of a file, judged by its first bytes; None if it is none of these."""
    if head.startswith(_ZIP):
        if head[30:].startswith(b"mimetypeapplication/vnd.oasis"):
            return OtherKind("an OpenDocument file", _SAVE_AS_CSV, ())
        if head[30:].startswith(_OFFICE):
            return OtherKind("an Excel file", _SAVE_AS_CSV, ())
        return OtherKind("a zip archive", "give it a name that ends in .zip; it cannot be read from a pipe", ())
    for kind in KINDS:
        if head[kind.at :].startswith(kind.magic) and (b"\0" in head or not kind.binary):
            return kind
    return None
