#include "tools/medley/output_kind.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <medley/report/picture.h>
#include <medley/report/sheet.h>

#include "tests/report/made_picture.h"
#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

using Kind = OutputKind;

// A sheet of before there were headings: the ground between and around the pictures.
std::string FirstSheet() {
  Picture sheet(6 + 20 + 6, 6 + 20 + 6 + 20 + 6, kSheetGround);
  for (const std::int64_t top : {6, 32}) sheet.Paste(MadePicture(20, 20), 6, top);
  return EncodePng(sheet);
}

// The least that each had in every medley so far: what today's write is tried with the verbs themselves.
const std::map<Kind, std::vector<std::string>>& Written() {
  static const std::map<Kind, std::vector<std::string>> written = {
      {Kind::kPage,
       {"<!doctype html>\n<html lang=\"en\">\n<title>medley</title>\n<script>\nconst runs = [{}], refresh = "
        "+\"0\";\n</script>",
        "<!doctype html>\n<title>medley</title>\n<script>\nconst runs = JSON.parse(\"[]\"), refresh = 0;"}},
      {Kind::kSheet, {FirstSheet(), EncodePng(MakeSheet({{MadePicture(3, 3)}}, {"image"}))}},
      {Kind::kPicture, {EncodePng(MadePicture(128, 128)), EncodePng(MadePicture(1, 1))}},
      {Kind::kAnswers, {"row 1\n  question  \"left?\"\n  model     \"no\"\n  right     \"no\"\n"}},
      {Kind::kScores,
       {R"({"tasks": {"control": {"metric": "error", "better": "lower", "value": null, "low": 0, "high": 1}}})"}},
      {Kind::kLock,
       {R"({"plugins": [{"name": "zoom", "tasks": {}, "models": {}, "sha256": "ab"}]})",
        R"({"plugins": []})"}},
      {Kind::kProfile, {R"({"format": 1, "key": {}, "floor": {}, "gradients": 0, "tasks": {}})"}},
      {Kind::kPlan, {R"({"format": 1, "budget": 5, "floor": {}, "data_bytes": 0, "tasks": []})"}},
      {Kind::kPlanTables,
       {"task     variant  passes  mode  rows  micro rows  predicted peak  of the budget\n"}}};
  return written;
}

TEST(OutputKinds, EachIsKnownByWhatItAlwaysHadAndNoneIsTakenForAnother) {
  for (const auto& [kind, files] : Written()) {
    for (const std::string& bytes : files) {
      for (const auto& [other, ignored] : Written())
        EXPECT_EQ(IsOfKind(other, bytes), other == kind) << NameOf(kind) << " as " << NameOf(other);
      EXPECT_FALSE(IsOfKind(Kind::kVocabulary, bytes)) << NameOf(kind);
    }
  }
}

TEST(OutputKinds, FilesOfPeoplesOwnAreNone) {
  const std::string png = EncodePng(MadePicture(9, 9)), sheet = FirstSheet();
  const std::string idat = png.substr(0, png.find("IDAT") - 4), more("\0\0\0\4tEXta\0bc....", 16);
  const std::vector<std::string> own = {
      "",
      "x",
      "{",
      "[]",
      "{}",
      "null",
      std::string(1, '\0'),
      "row 1\n",
      "row, of a table\nof mine\n",
      "<!doctype html>\n<title>my page of medley</title>\nconst runs = [",
      "<!doctype html>\n<title>medley</title>\nnotes on medley\n",
      R"({"tasks": {}})",
      R"({"tasks": {"control": {"rows": 2}}, "model": "m.json"})",
      R"({"tasks": []})",
      R"({"starts": [], "tasks": {"a": {"metric": "m", "better": "lower", "value": 1}}})",
      R"({"plugins": ["zoom"]})",
      R"({"plugins": [], "more": 1})",
      R"({"weights": {"control": 1}})",
      R"({"format": 1, "tasks": []})",
      png.substr(0, png.size() / 2),
      png + "x",
      png.substr(0, 8),
      idat + more + png.substr(idat.size()),
      sheet.substr(0, sheet.size() - 12),
      ReadText(MEDLEY_SOURCE_DIR "/tests/fuzz/corpus/png/rgb.png"),
      ReadText(MEDLEY_SOURCE_DIR "/tests/fuzz/corpus/png/palette.png"),
      ReadText(MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json"),
      ReadText(MEDLEY_SOURCE_DIR "/configs/weights/quickstart.json"),
      ReadText(MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model"),
      ReadText(MEDLEY_SOURCE_DIR "/docs/memory.md")};
  for (const std::string& bytes : own) {
    for (const auto& [kind, ignored] : Written())
      EXPECT_FALSE(IsOfKind(kind, bytes)) << NameOf(kind) << ": " << bytes.substr(0, 80);
  }
}

// What a page looks like is its author's matter; that it is known again is ours.
TEST(OutputKinds, ThePageOfTodayIsKnown) {
  const std::string page = ReadText(MEDLEY_SOURCE_DIR "/core/page/page.html");
  EXPECT_TRUE(IsOfKind(Kind::kPage, page));
}

}  // namespace
}  // namespace medley
