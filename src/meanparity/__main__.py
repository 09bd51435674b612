"""``python -m meanparity``."""

from meanparity.cli import main

if __name__ == "__main__":
    main()
