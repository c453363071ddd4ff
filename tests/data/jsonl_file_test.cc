#include <medley/data/jsonl_file.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <medley/base/files.h>
#include <medley/data/csv_file.h>
#include <medley/data/last_read.h>

#include "data_files.h"
#include "tests/words.h"

namespace medley {
namespace {

using test::Has;

class Jsonl : public DataFiles {};

TEST_F(Jsonl, AnItemIsALine) {
  const JsonlFile file(Write("a.jsonl", "{\"x\": 1}\n\n[2, 3]\n"));
  ASSERT_EQ(file.size(), 2);
  EXPECT_EQ(file.Read(0).json().at("x"), 1);
  EXPECT_EQ(file.Read(1).json(), nlohmann::json({2, 3}));
}

TEST_F(Jsonl, ValuesAreReadByTheirKinds) {
  const JsonlFile file(Write("a.jsonl",
                             R"({"t": "é", "n": -2.5, "i": 7, "s": true, "none": null, "ts": ["a", "b"],)"
                             R"( "ns": [1, 2.5], "is": [], "o": {"x": 1}, "os": [{"x": 2}, {"x": 3}]})"
                             "\n"));
  const JsonItem item = file.Read(0);
  EXPECT_EQ(item.Text("t"), "é");
  EXPECT_EQ(item.Word("t", {"a", "é"}), "é");
  EXPECT_EQ(item.Number("n"), -2.5);
  EXPECT_EQ(item.Number("i", 7, 7), 7);
  EXPECT_EQ(item.Integer("i", 0), 7);
  EXPECT_TRUE(item.Switch("s"));
  EXPECT_EQ(item.Texts("ts"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(item.Numbers("ns"), (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(item.Integers("is").empty());
  EXPECT_EQ(item.Object("o").Integer("x"), 1);
  EXPECT_EQ(item.Objects("os").at(1).Integer("x"), 3);
  EXPECT_TRUE(item.Has("i"));
  EXPECT_FALSE(item.Has("none"));
  EXPECT_FALSE(item.Has("x"));
}

// What another kind of value, or another value, is told as.
TEST_F(Jsonl, AValueOfAnotherKindIsToldWithFileLineKeyAndWhatWasFound) {
  const JsonlFile file(Write(
      "a.jsonl",
      "{}\n\n"
      R"({"iso": 5, "i": 3.0, "large": 18446744073709551615, "ns": [1, "x"], "os": [{"x": 1}, {"even": 2}]})"
      "\n[4]\n"));
  const JsonItem item = file.Read(1);
  const std::map<std::string, std::function<void()>> wrong{
      {"iso: expected a text, found 5", [&] { item.Text("iso"); }},
      {"\"iSO\" is missing; did you mean 'iso'? (there are: i, iso, large, ns, os)",
       [&] { item.Text("iSO"); }},
      {"iso: expected \"a\" or \"b\", found \"c\"",
       [&] {
         JsonlFile(Write("c.jsonl", "\n\n{\"iso\": \"c\"}\n")).Read(0).Word("iso", {"a", "b"});
       }},
      {"iso: expected true or false, found 5", [&] { item.Switch("iso"); }},
      {"iso: expected a number from 0 to 1, found 5", [&] { item.Number("iso", 0, 1); }},
      {"ns: expected a number, found an array", [&] { item.Number("ns"); }},
      {"iso: expected a whole number from 6 on, found 5", [&] { item.Integer("iso", 6); }},
      {"iso: expected a whole number up to 4, found 5",
       [&] { item.Integer("iso", std::numeric_limits<std::int64_t>::min(), 4); }},
      {"i: expected a whole number, found 3.0", [&] { item.Integer("i"); }},
      {"large: expected a whole number, found 18446744073709551615", [&] { item.Integer("large"); }},
      {"iso: expected a list, found 5", [&] { item.Texts("iso"); }},
      {"ns[0]: expected a text, found 1", [&] { item.Texts("ns"); }},
      {"ns[1]: expected a number, found \"x\"", [&] { item.Numbers("ns"); }},
      {"ns[1]: expected a whole number from 0 to 1, found \"x\"", [&] { item.Integers("ns", 0, 1); }},
      {"ns[0]: expected an object, found 1", [&] { item.Objects("ns"); }},
      {"iso: expected an object, found 5", [&] { item.Object("iso"); }},
      {"os[1]: \"x\" is missing (there are: even)", [&] { item.Objects("os").at(1).Number("x"); }},
      {"os[1].even: too even", [&] { item.Objects("os").at(1).Fail("even", "too even"); }},
      {"os[0]: too odd", [&] { item.Objects("os").at(0).Fail("too odd"); }}};
  for (const auto& [words, read] : wrong) {
    const std::string refusal = Refusal(read);
    EXPECT_EQ(refusal.substr(refusal.find(':')), ":3: " + words);
  }
  EXPECT_EQ(Refusal([&] { file.Read(2).Text("x"); }), "a.jsonl:4: expected an object, found an array");
  EXPECT_EQ(Refusal([&] { file.Read(2).Has("x"); }), "a.jsonl:4: expected an object, found an array");
}

TEST_F(Jsonl, AnItemOutlivesItsFile) {
  const auto item = std::make_unique<JsonlFile>(Write("a.jsonl", "{\"x\": 1}\n"))->Read(0);
  EXPECT_EQ(item.Integer("x"), 1);
  EXPECT_EQ(Refusal([&] { item.Text("x"); }), "a.jsonl:1: x: expected a text, found 1");
}

// Of strangers who know no file.
TEST_F(Jsonl, WhatOthersThrowIsToldWithTheRecordThatThisThreadReadLast) {
  const auto words = [&] {
    return Refusal([] { ThrowOfLastRead("[json.exception.type_error.302] number"); });
  };
  const auto error = [] {
    try {
      ThrowOfLastRead("stod");
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
  };
  ForgetRead();
  EXPECT_EQ(error(), "stod");
  {
    const JsonlFile file(Write("a.jsonl", "1\n2\n\n3\n"));
    file.Read(2);
    EXPECT_EQ(words(), "a.jsonl:4: [json.exception.type_error.302] number");
    const CsvFile table(Write("a.csv", "x,y\n1,2\n3,4\n"));
    table.Read(1);
    EXPECT_EQ(words(), "a.csv:3: [json.exception.type_error.302] number");
    EXPECT_TRUE(error().ends_with("a.csv:3)")) << error();
    std::thread([&] { file.Read(0); }).join();
    EXPECT_EQ(words(), "a.csv:3: [json.exception.type_error.302] number") << "another thread's";
  }
  EXPECT_TRUE(error().ends_with("a.csv:3)"))
      << error() << ": closed, as by a task that opens files as it draws";
  std::filesystem::remove(folder_ / "a.csv");
  EXPECT_TRUE(error().ends_with("a.csv)")) << error();
}

TEST_F(Jsonl, WordsGetThePlaceOfWhatWasReadLastUnlessTheyNameTheFile) {
  ForgetRead();
  EXPECT_EQ(WithPlace("too long"), "too long");
  const JsonlFile file(Write("a.jsonl", "{\"x\": 1}\n\n{\"x\": 2}\n"));
  const JsonItem first = file.Read(0);
  file.Read(1);
  const auto name_of = [](const std::string& words) { return words.substr(words.rfind('/') + 1); };
  EXPECT_EQ(name_of(WithPlace("too long")), "a.jsonl:3: too long");
  first.Integer("x");
  EXPECT_EQ(name_of(WithPlace("too long")), "a.jsonl:1: too long") << "kept, and used now";
  NoteFile(folder_ / "scan.raw");
  EXPECT_EQ(name_of(WithPlace("too long")), "scan.raw: too long");
  EXPECT_NE(WithPlace("too long").find("a.jsonl:1, "), std::string::npos);
  const std::string named = DisplayPath(folder_ / "a.jsonl") + ":1: too long";
  EXPECT_EQ(WithPlace(named), named);
}

TEST_F(Jsonl, TheMistakesOfAllLinesAreToldAtOnceWithTheirPlaces) {
  const std::string words = Refusal(
      [&] { JsonlFile(Write("a.jsonl", "{\"x\": 1}\n\n{\"x\": nul}\n {\"x\": 1, \"x\": 2}\r\n4\n[")); });
  EXPECT_TRUE(words.starts_with("3 records are not well formed\n  a.jsonl:3:7: not valid JSON: ")) << words;
  EXPECT_TRUE(Has(words, "\n  a.jsonl:4:11: x: the key stands twice")) << words;
  EXPECT_TRUE(Has(words, "\n  a.jsonl:6:2: not valid JSON: ")) << words;
  EXPECT_FALSE(Has(words, "more\n") || words.ends_with(" more")) << words;
  EXPECT_TRUE(
      Refusal([&] { JsonlFile(Write("b.jsonl", "1\n2 3\n")); }).starts_with("b.jsonl:2:3: not valid"));
}

TEST_F(Jsonl, OfAListTheElementsAreItemsAndItsMistakesAreToldWithTheirPlaces) {
  const JsonlFile file = JsonlFile::OfElements(Write("a.json", "[{\"x\": 1},\n {\"x\":\n 2}]\n"));
  ASSERT_EQ(file.size(), 2);
  EXPECT_EQ(file.Read(1).Integer("x"), 2);
  EXPECT_EQ(Refusal([&] { file.Read(1).Integer("y"); }).substr(0, 9), "a.json:2:");
  const auto refusal = [&](const std::string& text) {
    return Refusal([&] { JsonlFile::OfElements(Write("b.json", text)); });
  };
  EXPECT_TRUE(Has(refusal("[1,\n {\"x\": nan}]"), "b.json:2:7: ")) << refusal("[1,\n {\"x\": nan}]");
  EXPECT_TRUE(Has(refusal("[1,\n 2"), "b.json:2: the list is not closed"));
  EXPECT_TRUE(Has(refusal("[1,\n]"), "b.json:2: no element of a JSON list can stand here, found ']'"));
  EXPECT_TRUE(Has(refusal("[1]\n2"), "b.json:2: no element"));
  EXPECT_TRUE(Has(refusal("{}\n{}"), "b.json:2: no element"));
  EXPECT_TRUE(Has(refusal("[1, \"a]"), "a text is not closed"));
  EXPECT_TRUE(Has(refusal("[1}]"), "b.json:1:"));
}

TEST_F(Jsonl, OfManyMistakesTheFirstTwentyAreShown) {
  std::string text;
  for (int line = 1; line <= 120; ++line) text += line % 2 == 0 ? "{\n" : "{}\n";
  const std::string words = Refusal([&] { JsonlFile(Write("a.jsonl", text)); });
  EXPECT_TRUE(words.starts_with("60 records are not well formed\n  a.jsonl:2:2: ")) << words;
  EXPECT_TRUE(Has(words, "\n  a.jsonl:40:2: ")) << words;
  EXPECT_FALSE(Has(words, "a.jsonl:42:")) << words;
  EXPECT_TRUE(words.ends_with("\n  and 40 more")) << words;
}

// A file of another kind, or of another encoding.
TEST_F(Jsonl, WhatIsNoTextIsRefusedToo) {
  EXPECT_TRUE(Has(Refusal([&] { JsonlFile(Write("a.jsonl", "{\"x\": \"caf\xe9\"}\n")); }), "a.jsonl:1:7: "));
  EXPECT_TRUE(
      Has(Refusal([&] { JsonlFile(Write("b.jsonl", std::string("\0\1\2\n", 4))); }), "b.jsonl:1:1: "));
}

TEST_F(Jsonl, AFileThatWasMendedIsRead) {
  EXPECT_NE(Refusal([&] { JsonlFile(Write("a.jsonl", "[1]\n[2\n")); }), "");
  EXPECT_EQ(JsonlFile(Write("a.jsonl", "[1]\n[2]\n")).Read(1).json(), nlohmann::json({2}));
}

// What was read is not what the index was made of.
TEST_F(Jsonl, AChangeWhileItIsInUseIsToldWithItsPlace) {
  const JsonlFile file(Write("a.jsonl", "{\"x\": 1}\n\n{\"x\": 22}\n"));
  Write("a.jsonl", "{\"x\": 1}\n\n{\"x\": 2,}\n");
  EXPECT_TRUE(Refusal([&] { file.Read(1); }).starts_with("a.jsonl:3:9: ")) << Refusal([&] { file.Read(1); });
}

}  // namespace
}  // namespace medley
