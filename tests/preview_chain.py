"""The real chain that tests and the demo read where it is present: unpacks its archive."""

import shutil
import sys
import tarfile
from pathlib import Path

import pyarrow as pa


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks the chunk files of ``archive`` (tar, zstd) into ``folder``, whole or not at all."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with (
        pa.input_stream(str(archive), compression="zstd") as stream,
        tarfile.open(fileobj=stream, mode="r|") as members,
    ):
        for member in members:
            source = members.extractfile(member)
            if source is not None:
                with (partial / Path(member.name).name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    partial.rename(folder)


if __name__ == "__main__":
    unpack(Path(sys.argv[1]), Path(sys.argv[2]))
