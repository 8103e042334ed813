"""Contents of commands: a program that was built anew under its old name is another one."""

import hashlib
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path


def contents_of(words: Sequence[str]) -> list[str]:
    """The words of a command, the program first; of one that names a file ``sha256:`` with the digest of its content, in hex."""
    first, *more = words
    return [_content_of(shutil.which(first) or first), *map(_content_of, more)]


def in_words(words: Sequence[str]) -> str:
    """A command as a shell takes it, with the digests of the files that it names, so that it is another line for other files."""
    named = [
        f"{word} is {content}"
        for word, content in zip(words, contents_of(words), strict=True)
        if content.startswith(_DIGEST) and content != word
    ]
    return shlex.join(words) + (f" ({', '.join(named)})" if named else "")


_DIGEST = "sha256:"


def _content_of(word: str) -> str:
    path = Path(word)
    try:
        if "\0" not in word and path.is_file():
            with path.open("rb") as file:
                return f"{_DIGEST}{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        pass  # a word that is too long to be a path, or a file that can't be read: its words are all that is known
    return word
