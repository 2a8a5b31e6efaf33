"""Run every benchmark: each module of this package that has a `main`."""

import importlib
import pkgutil

import benchmarks


def main() -> None:
    """Run the benchmarks one after the other, in alphabetical order."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    for name in sorted(set(names) - {"__main__"}):
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "main"):
            module.main()


if __name__ == "__main__":
    main()
