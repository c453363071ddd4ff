#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include <medley/plugin/python_file.h>
#include <medley/plugin/python_source.h>
#include <medley/plugin/python_task.h>
#include <medley/plugin/rejection.h>

#include "tests/plugin/test_files.h"
#include "tests/words.h"

namespace medley::testing {
namespace {

using test::Has;

namespace fs = std::filesystem;

constexpr const char* kSpec =
    R"({"name": "line", "passes": [{"name": "look"}], "terms": [{"name": "error"}], "inputs": ["series"],
            "outputs": ["values"], "score": {"name": "error", "higher_is_better": False}})";

std::string WithSpec(const std::string& spec) {
  return "import medley\n\n\nclass Lines(medley.Task):\n    spec = " + spec + "\n";
}

// "12: words" of what is wrong, or "".
std::string ProblemOf(const std::string& source) {
  try {
    for (const PythonValue& spec : ReadPythonSource(source).specs) TaskOf(spec);
    return "";
  } catch (const PythonProblem& problem) {
    return std::to_string(problem.line) + ": " + problem.words;
  }
}
std::string ProblemOfSpec(const std::string& spec) { return ProblemOf(WithSpec(spec)); }

// The value of a literal as JSON, or the problem.
std::string Literal(const std::string& text) {
  try {
    const PythonSource source = ReadPythonSource(WithSpec("{\"x\": " + text + "}"));
    return source.specs.front().ToJson().at("x").dump();
  } catch (const PythonProblem& problem) {
    return "refused: " + problem.words;
  }
}

TEST(PythonFile, ASpecIsReadWithTheFactsDefaults) {
  const TempDirectory directory;
  WriteBytes(directory / "lines.py", WithSpec(kSpec));
  const Registry registry = ScanOnly({directory.path()});
  const TaskInfo& task = registry.Require("line");
  EXPECT_EQ(task.version, "1");
  EXPECT_EQ(task.variants.front().passes.front().name, "look");
  EXPECT_EQ(task.variants.front().terms.front().weight, 1.0);
  EXPECT_EQ(task.inputs, std::vector<std::string>{"series"});
  EXPECT_FALSE(task.score.higher_is_better);
  EXPECT_TRUE(registry.FileOf("line").is_python);
  EXPECT_EQ(registry.FileOf("line").build_id.size(), 64u);
}

TEST(PythonFile, AllThatTheContractHasGainedIsThere) {
  const std::string spec = R"({
      "name": "all", "version": "3", "summary": "everything", "rows_repeat": True,
      "passes": [
          {"name": "act", "no_gradient": True, "keeps": ["action"], "text_width_of": "width"},
          {"name": "old", "reference": "start", "keeps": ["before"]},
          {"name": "learn", "carries": ["hidden"], "sizes": [{"name": "frames", "most": 150}], "images": ("a", "b"),
           "images_of": "shown"},
          {"name": "draw", "decodes_image": True},
      ],
      "terms": [{"name": "loss", "weight": 0.5, "max_items_of": "width", "stops_gradient": True},
                {"name": "other", "max_items": 4, "counts_otherwise": True}],
      "variants": [{"name": "short", "summary": "one pass", "passes": [{"name": "one"}], "terms": [{"name": "loss"}]}],
      "constants": [{"name": "table", "rows": 3, "width": 5, "dtype": "float32"}],
      "options": [{"name": "width", "value": 64, "low": 1, "high": 512, "summary": "tokens"},
                  {"name": "noise", "value": 0.25}, {"name": "quick", "value": True},
                  {"name": "kind", "words": ["near", "far"]}, {"name": "data", "path": True, "required": False},
                  {"name": "shown", "value": 0, "low": 0, "high": 2}, {"name": "chat", "text": True}],
      "special_tokens": ["<eos>"],
      "score": {"name": "right", "chance": 0.25, "low": 0, "high": 1, "chance_of_any_rows": True},
  })";
  ASSERT_EQ(ProblemOfSpec(spec), "");
  const TaskInfo task = TaskOf(ReadPythonSource(WithSpec(spec)).specs.front());
  const auto& passes = task.variants.front().passes;
  EXPECT_TRUE(passes[0].no_gradient);
  EXPECT_EQ(passes[0].keeps, std::vector<std::string>{"action"});
  EXPECT_EQ(passes[1].reference, "start");
  EXPECT_EQ(passes[2].Size("frames"), 150);
  EXPECT_EQ(task.variants[1].summary, "one pass");
  EXPECT_EQ(task.FindOption("quick")->kind, OptionKind::kSwitch);
  EXPECT_EQ(task.FindOption("kind")->kind, OptionKind::kWord);
  EXPECT_EQ(task.FindOption("data")->kind, OptionKind::kPath);
  EXPECT_FALSE(task.FindOption("data")->required);
  EXPECT_EQ(task.FindOption("chat")->kind, OptionKind::kText);
  EXPECT_EQ(task.FindOption("width")->high, 512);
  EXPECT_EQ(task.score.chance, 0.25);
}

TEST(PythonFile, LiteralsAreWhatPythonMakesOfThem) {
  EXPECT_EQ(Literal("1_000"), "1000");
  EXPECT_EQ(Literal("-0x1F"), "-31");
  EXPECT_EQ(Literal("0b101"), "5");
  EXPECT_EQ(Literal("0o17"), "15");
  EXPECT_EQ(Literal("00"), "0");
  EXPECT_EQ(Literal("1_0.5e-1"), "1.05");
  EXPECT_EQ(Literal(".5"), "0.5");
  EXPECT_EQ(Literal("5."), "5.0");
  EXPECT_EQ(Literal("1e400").substr(0, 7), "refused");
  EXPECT_EQ(Literal("'a' \"b\"\n      'c'"), "\"abc\"");
  EXPECT_EQ(Literal("r'\\n' '\\n' u'\\x41\\u00e9\\101'"), "\"\\\\n\\nAéA\"");
  EXPECT_EQ(Literal("'''two\nlines \"here\"'''"), "\"two\\nlines \\\"here\\\"\"");
  EXPECT_EQ(Literal("'a\\\nb'"), "\"ab\"");
  EXPECT_EQ(Literal("'\\q'"), "\"\\\\q\"");
  EXPECT_EQ(Literal("(1, 2)"), "[1,2]");
  EXPECT_EQ(Literal("(1)"), "1");
  EXPECT_EQ(Literal("(1,)"), "[1]");
  EXPECT_EQ(Literal("()"), "[]");
  EXPECT_EQ(Literal("[1, # one\n 2,\n]"), "[1,2]");
  EXPECT_EQ(Literal("{'a': None, 'b': True}"), "{\"a\":null,\"b\":true}");
}

TEST(PythonFile, WhatIsNoLiteralIsRefusedWithItsLineAndWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"WIDTH", "'WIDTH' is a name"},
      {"f'{x}'", "an f-string is computed when the file runs"},
      {"b'x'", "a text of bytes"},
      {"1 + 2", "behind a value stands '+'"},
      {"2 ** 3", "behind a value stands '*'"},
      {"dict(a=1)", "'dict' is a name"},
      {"{'a': 1, 'a': 2}", "the key 'a' stands twice"},
      {"{1: 2}", "a key is a whole number, and no text"},
      {"1e999", "'1e999' is no finite number"},
      {"1j", "'1j' is no number"},
      {"012", "begins with 0"},
      {"1__0", "is no number"},
      {"99999999999999999999", "more than 64 bits"},
      {"'\\N{BULLET}'", "names a character"},
      {"'\\ud800'", "is no character"},
      {"[x for x in y]", "'x' is a name"},
      {"'a' % 1", "behind a value stands '%'"},
      {"-'a'", "a sign stands before what is no number"},
      {std::string(40, '[') + std::string(40, ']'), "more than 32 deep"},
  };
  for (const auto& [text, words] : cases) {
    const std::string problem =
        ProblemOfSpec("{\n        \"name\": \"x\",\n        \"summary\": " + text + "}");
    EXPECT_TRUE(problem.starts_with("7: ") && Has(problem, words)) << text << ": " << problem;
    EXPECT_TRUE(Has(problem, "so it is a literal: texts, numbers")) << problem;
  }
  EXPECT_TRUE(Has(ProblemOfSpec("dict(name='x')"), "5: the spec is no dict in braces"));
  EXPECT_TRUE(Has(ProblemOfSpec("{'name': 'x'} | OTHER"), "5: behind the spec stands '|'"));
}

TEST(PythonFile, WhatASpecMayNotSayIsRefusedWithItsLine) {
  const auto said = [](const std::string& pass, const std::string& term, const std::string& more = "") {
    return ProblemOfSpec("{\"name\": \"x\",\n\"passes\": [" + pass + "],\n\"terms\": [" + term +
                         "],\n\"score\": {\"name\": \"s\"}" + more + "}");
  };
  const std::string pass = "{\"name\": \"look\"}", term = "{\"name\": \"error\"}";
  EXPECT_EQ(said(pass, term), "");
  EXPECT_TRUE(Has(said("{\"name\": \"look\", \"text_widht\": 3}", term), "6: no such key; did you mean"))
      << said("{\"name\": \"look\", \"text_widht\": 3}", term);
  EXPECT_TRUE(Has(said("{\"name\": \"Look\"}", term), "6: 'Look' is no name"));
  EXPECT_TRUE(Has(said(pass + ", " + pass, term), "6: the name 'look' stands twice in 'passes'"));
  EXPECT_TRUE(Has(said(pass, "{\"name\": \"error\", \"weight\": \"1\"}"),
                  "7: 'weight' is a text, and should be a number"));
  EXPECT_TRUE(Has(said(pass, "{\"name\": \"error\", \"weight\": -1}"), "7: 'weight' is less than it may be"));
  EXPECT_TRUE(Has(said(pass, "{\"name\": \"error\", \"max_items\": 0}"), "7: 'max_items' is 0"));
  EXPECT_TRUE(Has(said(pass, "{\"name\": \"error\", \"max_items\": 1.0}"),
                  "7: 'max_items' is a number, and should be a whole"));
  EXPECT_TRUE(Has(said(pass, "{\"name\": \"error\", \"max_items\": True}"), "'max_items' is True"));
  EXPECT_TRUE(Has(said("", term), "5: the spec of 'x' has no pass or no term"));
  EXPECT_TRUE(Has(said("{\"name\": \"a\", \"no_gradient\": True, \"carries\": [\"c\"]}", term),
                  "a carry of a pass without"));
  std::string many;
  for (int i = 0; i < 9; ++i) many += "{\"name\": \"p" + std::to_string(i) + "\"},";
  EXPECT_TRUE(Has(said(many, term), "6: 'passes' has 9 items; at most 8"));
  const auto option = [&](const std::string& text) {
    return said(pass, term, ",\n\"options\": [" + text + "]");
  };
  EXPECT_TRUE(Has(option("{\"name\": \"o\"}"), "9: the option 'o' needs one of"));
  EXPECT_TRUE(
      Has(option("{\"name\": \"o\", \"value\": 1, \"path\": True}"), "9: the option 'o' needs one of"));
  EXPECT_TRUE(Has(option("{\"name\": \"o\", \"value\": 5}"), "an option whose value is out of its range"));
  EXPECT_TRUE(Has(option("{\"name\": \"o\", \"value\": 1, \"required\": True}"), "'required' is for a path"));
}

TEST(PythonFile, OnlySpecsDirectlyInAClassCount) {
  const std::string source = R"(import medley
spec = importlib.util.spec_from_file_location("x", "y")


class Lines(medley.Task):
    """A text with spec = nothing: "in it".

    spec = {
    """

    spec: dict = {"name": "line", "passes": [{"name": "look"}], "terms": [{"name": "error"}]}
    spec_of = 3

    def sample(self, rows):
        spec = rows.spec
        if True: spec = 4
        self.spec == 5
        return spec

    class Inner:
        spec: int

class Other:
    x = 1
    spec = {"name": "other", "passes": [{"name": "look"}], "terms": [{"name": "error"}]}
)";
  const PythonSource read = ReadPythonSource(source);
  ASSERT_EQ(read.specs.size(), 2u);
  EXPECT_EQ(read.specs[0].line, 11);
  EXPECT_EQ(read.specs[1].Find("name")->text, "other");
}

TEST(PythonFile, FStringsOfAnyPythonEndWhereTheyEnd) {
  for (const std::string text :
       {R"(f"{d["key"]}")", R"(f"{d["("]}")", R"(f'{x:{width}}')", R"(f"{{{x}")", R"(f"{f"{1}"}")",
        R"(f"""{
        x  # with a "quote
    }""")",
        R"(rf"\{x}")", R"(f"{x!r:>{w}}")", R"(f"{x}" "(")"}) {
    const std::string source = "import medley\nx = " + text + "\nclass A:\n    spec = {\"name\": \"a\"}\n";
    EXPECT_EQ(ReadPythonSource(source).specs.size(), 1u) << text;
  }
}

TEST(PythonFile, AFileThatCannotBeReadIsRefusedWithItsLine) {
  const auto said = [](const std::string& text) {
    try {
      ReadPythonSource("import medley\n" + text);
    } catch (const PythonProblem& problem) {
      return std::to_string(problem.line) + ": " + problem.words;
    }
    return std::string();
  };
  EXPECT_EQ(said("x = 'abc\n"), "2: a text that begins here does not end");
  EXPECT_EQ(said("x = '''abc\n\n"), "2: a text that begins here does not end");
  EXPECT_EQ(said("x = (1,\n\n"), "4: a '(' is not closed");
  EXPECT_EQ(said("x = (1]\n"), "2: a ']' closes no bracket that is open");
  EXPECT_EQ(said("x = f'{a'\n"), "2: a text that begins here does not end") << said("x = f'{a'\n");
  EXPECT_EQ(said("x = '\xff'\n"), "2: it is no UTF-8");
  EXPECT_EQ(said(std::string("x = '\0'\n", 8)), "1: it holds a byte of 0");
}

TEST(PythonFile, ImportsAreFoundWhereverTheyStand) {
  const std::set<std::string> imports = ImportsOf(
      "import os, sys as system\nfrom .here import x\nfrom a.b import (c,\n    d as e)\n"
      "def f():\n    import inner; import last\n    if x: from y import z\nfrom_ = 3\nimport_ = 'import "
      "no'\n");
  EXPECT_EQ(imports,
            (std::set<std::string>{"a.b", "a.b.c", "a.b.d", "inner", "last", "os", "sys", "y", "y.z"}));
}

TEST(PythonFile, WhatIsNoPluginIsPassedOver) {
  const TempDirectory directory;
  WriteBytes(directory / "setup.py", "import os\n");
  WriteBytes(directory / "helper.py", "import medley\n\nclass Base(medley.Task):\n    pass\n");
  WriteBytes(directory / "broken.py", "x = 'medley\n");
  WriteBytes(directory / "lines.py", WithSpec(kSpec));
  const Registry registry = ScanOnly({directory.path()});
  EXPECT_NO_THROW(registry.RequireNamed());
  EXPECT_EQ(registry.tasks().size(), 1u);
}

TEST(PythonFile, ABadSpecIsToldWithItsFileAndLine) {
  const TempDirectory directory;
  WriteBytes(directory / "lines.py", WithSpec("{\"name\": NAME}"));
  const Registry registry = ScanOnly({directory.path()});
  const std::string words = test::MessageOf<InputError>([&] { registry.RequireNamed(); });
  EXPECT_TRUE(Has(words, "lines.py:5: 'NAME' is a name; a spec is read without running the file")) << words;
}

TEST(PythonFile, ItsBuildIdIsThatOfTheModulesBesideIt) {
  const TempDirectory directory;
  const auto id = [&] { return ScanOnly({directory / "lines.py"}).FileOf("line").build_id; };
  WriteBytes(directory / "lines.py", "import helper\n" + WithSpec(kSpec));
  const std::string alone = id();
  WriteBytes(directory / "helper.py", "from deeper.part import x\n");
  const std::string with_helper = id();
  EXPECT_NE(alone, with_helper);
  fs::create_directory(directory / "deeper");
  WriteBytes(directory / "deeper/__init__.py", "");
  WriteBytes(directory / "deeper/part.py", "x = 1\n");
  const std::string with_package = id();
  EXPECT_NE(with_helper, with_package);
  EXPECT_EQ(ModulesBeside(fs::canonical(directory / "lines.py")).size(), 3u);
  WriteBytes(directory / "deeper/part.py", "x = 2\n");
  EXPECT_NE(with_package, id());
  WriteBytes(directory / "stranger.py", "x = 2\n");
  WriteBytes(directory / "deeper/part.py", "x = 1\n");
  EXPECT_EQ(with_package, id());
}

TEST(PythonFile, WhatOthersMayWriteIsRefused) {
  const TempDirectory directory;
  WriteBytes(directory / "lines.py", "import helper\n" + WithSpec(kSpec));
  WriteBytes(directory / "helper.py", "x = 1\n");
  const auto reason = [&] {
    const Registry registry = ScanOnly({directory / "lines.py"});
    return registry.rejected().empty() ? "" : registry.rejected().front().reason;
  };
  EXPECT_EQ(reason(), "");
  ::chmod((directory / "lines.py").c_str(), 0666);
  EXPECT_TRUE(Has(reason(), "lines.py may be written by everybody")) << reason();
  ::chmod((directory / "lines.py").c_str(), 0644);
  ::chmod((directory / "helper.py").c_str(), 0666);
  EXPECT_TRUE(Has(reason(), "it imports a module beside it: ") && Has(reason(), "helper.py may be written"))
      << reason();
  ::chmod((directory / "helper.py").c_str(), 0644);
  ::chmod(directory.path().c_str(), 0777);
  EXPECT_TRUE(Has(reason(), "may be written by everybody")) << reason();
  ::chmod(directory.path().c_str(), 0755);
}

TEST(PythonFile, AChangedFileIsNotTheOneThatWasRead) {
  const TempDirectory directory;
  WriteBytes(directory / "lines.py", "import helper\n" + WithSpec(kSpec));
  WriteBytes(directory / "helper.py", "x = 1\n");
  const Registry registry = ScanOnly({directory / "lines.py"});
  const PluginFile& file = registry.FileOf("line");
  EXPECT_EQ(SourcesOf(file).text, ReadBytes(directory / "lines.py"));
  WriteBytes(directory / "helper.py", "x = 2\n");
  EXPECT_TRUE(
      Has(test::MessageOf([&] { SourcesOf(file); }), "a module beside it that it imports, has changed"));
  WriteBytes(directory / "helper.py", "x = 1\n");
  WriteBytes(directory / "lines.py", "import helper\n\n" + WithSpec(kSpec));
  EXPECT_TRUE(Has(test::MessageOf([&] { SourcesOf(file); }), "has changed since this run began"));
}

}  // namespace
}  // namespace medley::testing
