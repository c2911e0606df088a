"""The gate that every kata must pass; `python -m tests.gate.verify lecture04` runs it.

`cases` finds katas and their answers on disk, `answers` reads the wrong ones, `overlay` lays
an answer over a kata, `pymutants` and `cxxmutants` make the one-edit mutants, `runner` and
`server` run a kata's tests in a fork of a process that has imported torch, `outcome` judges
the result, `checks` puts the parts together and `table` prints the report.
"""
