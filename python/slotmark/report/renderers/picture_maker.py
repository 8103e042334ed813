"""The program that makes pictures of charts, run by itself so that it loads nothing else of ours: a line of JSON goes in and one comes out per chart.

It ends when its input does, and so with the process that it works for, however that ends.
"""

import json
import sys

import vl_convert


def main() -> None:
    """Makes pictures until there are no more lines."""
    # The first takes half a second. Charts are still being drawn.
    vl_convert.vegalite_to_svg({"mark": "point"}, allowed_base_urls=[])
    for line in sys.stdin.buffer:
        chart, config = json.loads(line)
        picture = vl_convert.vegalite_to_svg(chart, config=config, allowed_base_urls=[])
        sys.stdout.buffer.write(json.dumps(picture).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
