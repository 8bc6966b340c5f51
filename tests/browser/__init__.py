"""Tests of pages; a package, so that its one browser ends before other tests begin."""
