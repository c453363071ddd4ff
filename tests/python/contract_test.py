"""What C++'s contract has is there in Python, or stands in the guide's list of what is not."""
import re
import unittest

import medley
from harness import SOURCE
from medley import _medley

# Members of the classes that an author uses, and where each is in Python: a name of `there`, or of the guide's last table.
CPP = {
    "core/task/pass_context.h": {
        "batch": "PassContext::batch()", "Constant": "Context.constant", "Pixels": "Context.pixels", "Image": "Context.image",
        "Forward": "Context.forward", "Carry": "Context.carry", "Carried": "Context.carried", "Seed": "Context.seed",
        "Generate": "Context.generate", "ForwardOf": "Context.forward_of", "ForEachPiece": "EvalContext.each"},
    "core/task/task.h": {
        "Option": "TaskContext.options", "Switch": "TaskContext.options", "Word": "TaskContext.options", "Path": "TaskContext.options",
        "model": "TaskContext.model", "tokenizer": "TaskContext.tokenizer", "image": "TaskContext.image",
        "control_text": "TaskContext.control_text", "Classes": "TaskContext.classes", "HeldOut": "HeldOut", "Chat": "TaskContext.chat_tokens",
        "NamesAreText": "TaskContext.names_are_text", "Say": "TaskContext.say", "Share": "Outcomes", "Amount": "Outcomes",
        "Sample": "Task.sample", "Run": "Task.run", "Evaluate": "Task.evaluate", "Constant": "Task.constant", "Items": "Items",
        "CacheBytes": "Task.cache_bytes", "Asks": "Ask", "Ask": "Ask"},
    "core/task/batch.h": {
        "Add": "Task.sample", "AddRagged": "Ragged", "AddPadded": "Padded", "SetItems": "Task.sample", "CountEach": "Task.sample",
        "Column": "Context.column", "Ragged": "Context.ragged", "Picture": "Context.pixels", "rows": "Context.rows"},
    "core/base/rows.h": {"Random": "Rows.uniform", "Part": "Rows.part"},
}


class Contract(unittest.TestCase):
    def setUp(self):
        guide = (SOURCE / "docs/tasks-in-python.md").read_text()
        self.missing = guide.split("## What C++ has and Python has not")[1]

    def test_every_method_of_cpp_is_there_or_in_the_list(self):
        of_context = set(dir(_medley.TaskContext))
        for header, members in CPP.items():
            text = re.sub(r"//.*", "", (SOURCE / header).read_text())
            for member, there in members.items():
                self.assertRegex(text, rf"\b{member}\(", f"{header} has no {member} any more")
                parts = there.split(".")
                if len(parts) == 2 and hasattr(medley, parts[0]):
                    owner = getattr(medley, parts[0])
                    found = hasattr(owner, parts[1]) or parts[1] in of_context
                else:
                    found = hasattr(medley, there) or f"`{there}" in self.missing
                self.assertTrue(found, f"{member} of {header} is said to be {there}")

    def test_no_method_of_cpp_is_forgotten(self):
        for header, members in CPP.items():
            text = re.sub(r"//.*", "", (SOURCE / header).read_text())
            virtual = set(re.findall(r"virtual [\w:&<>:, ]+?[ &*](\w+)\(", text))
            forgotten = {name for name in virtual if name not in members and not name.startswith("~")}
            self.assertEqual(forgotten, set(), header)

    def test_every_option_of_generate_is_there_or_in_the_list(self):
        text = (SOURCE / "core/model/model.h").read_text()
        body = re.sub(r"//.*", "", text.split("struct GenerateOptions {")[1].split("};")[0])
        for name in re.findall(r"(\w+)(?: = [^;{]+|\{\});", body):
            self.assertTrue(f"{name}=" in medley.Context.generate.__doc__ or f"`{name}`" in self.missing, name)


if __name__ == "__main__":
    unittest.main()
