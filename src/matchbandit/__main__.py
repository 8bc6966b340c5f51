"""`python -m matchbandit`."""

from matchbandit.cli import main

if __name__ == "__main__":
    main()
