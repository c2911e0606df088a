"""Write tinytorch/ops.py from native_functions.yaml and derivatives.yaml."""

from __future__ import annotations

import re
from pathlib import Path


ROOT = Path(__file__).parents[1]
SCHEMA = re.compile(r"(\w+)\((.*)\) -> Tensor")
ENTRY = re.compile(r"- (?:func|name): (.*)((?:\n +.*)*)")
FIELD = re.compile(r"^ +(\w+): *(.+)$", re.MULTILINE)


def read(name: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return the entries of a YAML file by operator: the names of its arguments, and its fields."""
    entries = {}
    for schema, fields in ENTRY.findall((ROOT / "tinytorch" / name).read_text("utf-8")):
        found = SCHEMA.fullmatch(schema)
        if not found:
            raise SystemExit(f"{name}: {schema!r} is no schema")
        arguments = [each.split()[-1].split("=")[0] for each in found[2].split(", ")]
        entries[found[1]] = (
            arguments,
            {key: text.strip('"') for key, text in FIELD.findall(fields)},
        )
    return entries


def generate() -> str:
    """Return the text of tinytorch/ops.py."""
    derivatives = read("derivatives.yaml")
    lines = ["from tinytorch import kernels", ""]
    for name, (arguments, dispatch) in read("native_functions.yaml").items():
        inputs = ", ".join(arguments)
        for suffix, key in (("", "CPU"), ("_meta", "Meta")):
            if key in dispatch:
                lines += [f"def {name}{suffix}({inputs}):"]
                lines += [f"    return kernels.{dispatch[key]}({inputs})", ""]
        if name in derivatives:
            formulas = derivatives[name][1]
            grads = ", ".join(f"{key!r}: {formula}" for key, formula in formulas.items())
            lines += [f"def {name}_backward(grad, {inputs}):", f"    return {{{grads}}}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    (ROOT / "tinytorch/ops.py").write_text(generate(), "utf-8")
