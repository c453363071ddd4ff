"""What the stubs say is what the package has: names, signatures, defaults."""
import ast
import os
import pathlib
import unittest

import medley

PACKAGE = pathlib.Path(os.environ["MEDLEY_BUILD"]) / "lib/medley/python/medley"
MODULES = ("drivers", "mixture", "rows", "session", "task", "_metrics")
SPECIAL = ("__init__", "__len__", "__iter__", "__next__", "__getitem__", "__enter__", "__exit__")


def tree_of(name):
    return ast.parse((PACKAGE / name).read_text())


def is_public(name):
    return not name.startswith("_") or name in SPECIAL


def signature(function):
    """(how it is called, of which arguments with which defaults)."""
    arguments = function.args
    plain = [each.arg for each in arguments.posonlyargs + arguments.args]
    defaults = [ast.unparse(value) for value in arguments.defaults]
    by_name = {each.arg: value and ast.unparse(value) for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults)}
    stars = [each and each.arg for each in (arguments.vararg, arguments.kwarg)]
    return [ast.unparse(each) for each in function.decorator_list], plain, defaults, by_name, stars


def functions(body):
    return {each.name: signature(each) for each in body if isinstance(each, ast.FunctionDef) and is_public(each.name)}


def classes(tree):
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef) and is_public(each.name)}


def variables(body):
    """{name: what it is without more words, or None}."""
    return {
        each.target.id: each.value and ast.unparse(each.value)
        for each in body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def set_by(node):
    """The names that a class sets, of itself and of its objects."""
    named = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)}
    return {name for name in named | set(variables(node.body)) if is_public(name)}


def inherited(tree, cls, name):
    """The signature of a method in the classes of the stub that this one derives from, those of other modules being medley.task's."""
    known = {**classes(tree_of("task.pyi")), **classes(tree)}
    for base in cls.bases:
        base = known.get(ast.unparse(base))
        if base is not None:
            yield from [signature for own, signature in functions(base.body).items() if own == name]
            yield from inherited(tree, base, name)


class Stubs(unittest.TestCase):
    def test_functions_and_classes_are_those_of_the_modules(self):
        for module in MODULES:
            real, stub = tree_of(module + ".py"), tree_of(module + ".pyi")
            self.assertEqual(functions(stub.body), functions(real.body), module)
            self.assertEqual(list(classes(stub)), list(classes(real)), module)

    def test_methods_have_the_same_signatures(self):
        seen = 0
        for module in MODULES:
            stub = tree_of(module + ".pyi")
            for name, cls in classes(tree_of(module + ".py")).items():
                said, own = classes(stub)[name], functions(cls.body)
                self.assertEqual([ast.unparse(base).split("[")[0] for base in said.bases], [ast.unparse(base) for base in cls.bases], name)
                told = functions([each for each in said.body if "typing.overload" not in map(ast.unparse, getattr(each, "decorator_list", ()))])
                told.update({"__getitem__": own["__getitem__"]} if "__getitem__" in own and "__getitem__" not in told else {})
                for method, expected in own.items():
                    found = [told[method]] if method in told else list(inherited(stub, said, method))[:1]
                    self.assertEqual(found, [expected], f"{module}.{name}.{method}")
                    seen += 1
                self.assertEqual(set(told) - set(own), set(), f"{module}.{name}")
        self.assertGreater(seen, 100)

    def test_attributes_are_those_that_are_set(self):
        for module in MODULES:
            for name, cls in classes(tree_of(module + ".py")).items():
                said = variables(classes(tree_of(module + ".pyi"))[name].body)
                self.assertEqual(set(said), set_by(cls), f"{module}.{name}")
                if cls.decorator_list or "typing.NamedTuple" in map(ast.unparse, cls.bases):  # made of them, in their order
                    real = variables(cls.body)
                    self.assertEqual(list(said), list(real), name)
                    self.assertEqual([value is None for value in said.values()], [value is None for value in real.values()], name)

    def test_what_the_package_has_is_told(self):
        stub = tree_of("__init__.pyi")
        told = {alias.asname for each in stub.body if isinstance(each, ast.ImportFrom) for alias in each.names}
        told |= set(classes(stub)) | {name for name in variables(stub.body) if name != "__all__"}
        self.assertEqual(told, set(medley.__all__))

    def test_what_is_of_cpp_has_its_names(self):
        for name, cls in classes(tree_of("__init__.pyi")).items():
            real = getattr(medley, name)
            told = {each.name for each in cls.body if isinstance(each, ast.FunctionDef)} | set(variables(cls.body))
            own = {each for each in vars(real) if not each.startswith("_")} | ({"__getitem__"} & set(vars(real)))
            self.assertEqual(told, own, name)
            for method in (each for each in cls.body if isinstance(each, ast.FunctionDef) and not each.decorator_list):
                words = (getattr(real, method.name).__doc__ or "").split("): ")[0]
                if words.startswith(method.name + "("):
                    _, plain, defaults, _, _ = signature(method)
                    bare = plain[1 : len(plain) - len(defaults)]
                    shown = bare + [f"{key}={value}" for key, value in zip(plain[1 + len(bare) :], defaults)]
                    self.assertEqual(words, f"{method.name}({', '.join(shown)}", f"{name}.{method.name}")

    def test_types_are_offered(self):
        self.assertTrue((PACKAGE / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
