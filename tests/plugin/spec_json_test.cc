#include <gtest/gtest.h>
#include <medley/base/facts_writer.h>
#include <medley/model/model_spec.h>
#include <medley/model/model_spec_check.h>
#include <medley/plugin/elf_file.h>
#include <medley/plugin/info_json.h>
#include <medley/plugin/rejection.h>
#include <medley/plugin/spec_reader.h>
#include <medley/task/spec_check.h>

#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>

#include "tests/plugin/test_files.h"

namespace medley::detail {
namespace {

// As the compiler does it: counted, then filled in.
template <typename Write>
std::string Written(Write write) {
  FactsWriter counter(nullptr);
  write(counter);
  std::string text(counter.size(), '?');
  FactsWriter writer(text.data());
  write(writer);
  return text;
}

std::string Decimal(double value) {
  return Written([&](FactsWriter& writer) { writer.Number(value); });
}

std::string Quoted(std::string_view text) {
  return Written([&](FactsWriter& writer) { writer.String(text); });
}

TEST(SpecJson, NumbersAreTheDecimalsThatTheAuthorWrote) {
  EXPECT_EQ(Decimal(0.001), "0.001");
  EXPECT_EQ(Decimal(0.1), "0.1");
  EXPECT_EQ(Decimal(10), "10");
  EXPECT_EQ(Decimal(-2.5), "-2.5");
  EXPECT_EQ(Decimal(0), "0");
  EXPECT_EQ(Decimal(1234.5678), "1234.5678");
  EXPECT_EQ(Decimal(99.999999999999), "99.999999999999");
  EXPECT_EQ(Decimal(1e-12), "1e-12");
  EXPECT_EQ(Decimal(2.5e300), "2.5e300");
  EXPECT_EQ(Decimal(1.0 / 3), "0.3333333333333333");
}

TEST(SpecJson, ShortDecimalsComeBackWhole) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto digits = static_cast<long>(random() % 1'000'000'000);
    const int places = static_cast<int>(random() % 12);
    const double value =
        std::strtod((std::to_string(digits) + "e-" + std::to_string(places)).c_str(), nullptr);
    ASSERT_EQ(std::strtod(Decimal(value).c_str(), nullptr), value) << Decimal(value);
    ASSERT_LE(Decimal(value).size(), 22u);
  }
}

TEST(SpecJson, AnyDoubleComesBackToTheLastBitOrTheOneBeside) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value) || std::abs(value) < 1e-300) continue;
    const double back = nlohmann::json::parse(Decimal(value)).get<double>();
    ASSERT_NEAR(back / value, 1, 1e-15) << Decimal(value);
  }
}

TEST(SpecJson, TextsAreQuoted) {
  for (const std::string text : {"plain", "a \"quote\" and \\", "line\nfeed\ttab\x01", "\u00e4\u20ac"}) {
    EXPECT_EQ(nlohmann::json::parse(Quoted(text)).get<std::string>(), text);
  }
}

template <typename Spec>
std::size_t FieldsOf(const Spec& spec) {
  std::size_t count = 0;
  const auto visit = [&](const facts::Fact&, const auto&) { ++count; };
  Spec::Fields(visit, spec);
  return count;
}

// A member that is in no list compiles: so this test names as many as there are.
TEST(SpecJson, EveryMemberOfASpecIsInItsList) {
  {
    [[maybe_unused]] const auto& [a, b] = SizeSpec();
    EXPECT_EQ(FieldsOf(SizeSpec()), 2u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k] = PassSpec();
    EXPECT_EQ(FieldsOf(PassSpec()), 11u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f] = TermSpec();
    EXPECT_EQ(FieldsOf(TermSpec()), 6u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d] = VariantSpec();
    EXPECT_EQ(FieldsOf(VariantSpec()), 4u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d] = ConstantSpec();
    EXPECT_EQ(FieldsOf(ConstantSpec()), 4u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h] = OptionSpec();
    EXPECT_EQ(FieldsOf(OptionSpec()), 8u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f] = ScoreSpec();
    EXPECT_EQ(FieldsOf(ScoreSpec()), 6u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = TaskSpec();
    EXPECT_EQ(FieldsOf(TaskSpec()), 13u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h] = ModelField();
    EXPECT_EQ(FieldsOf(ModelField()), 8u);
  }
  {
    [[maybe_unused]] const auto& [a, b] = ModelGroup();
    EXPECT_EQ(FieldsOf(ModelGroup()), 2u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f] = ModelRule();
    EXPECT_EQ(FieldsOf(ModelRule()), 6u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d] = ModelSize();
    EXPECT_EQ(FieldsOf(ModelSize()), 4u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f] = TensorSpec();
    EXPECT_EQ(FieldsOf(TensorSpec()), 6u);
  }
  {
    [[maybe_unused]] const auto& [a, b] = PictureFields();
    EXPECT_EQ(FieldsOf(PictureFields()), 2u);
  }
  {
    [[maybe_unused]] const auto& [a, b] = PretrainedGroup();
    EXPECT_EQ(FieldsOf(PretrainedGroup()), 2u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d] = TowerGroup();
    EXPECT_EQ(FieldsOf(TowerGroup()), 4u);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = ModelSpec();
    EXPECT_EQ(FieldsOf(ModelSpec()), 14u);
  }
}

constexpr TaskSpec kUnusual{
    .name = "unusual",
    .version = "7",
    .summary = "has \"everything\"",
    .passes = {{.name = "look",
                .text_width = 9,
                .images = {"frame", "state"},
                .decodes_image = true,
                .carries = {"next"},
                .sizes = {{.name = "series", .most = 4}, {.name = "frames", .most = 150}}}},
    .terms = {{.name = "shape", .weight = 0.25, .max_items = 3, .stops_gradient = true},
              {.name = "place", .counts_otherwise = true}},
    .variants = {{.name = "short",
                  .passes = {{.name = "glance"}},
                  .terms = {{.name = "shape"}},
                  .summary = "one look"},
                 {.name = "silent", .passes = {{.name = "glance"}}, .terms = {{.name = "shape"}}}},
    .constants = {{.name = "table", .rows = 5, .width = 2, .dtype = "float32"}},
    .options = {{.name = "share", .value = 0.5, .low = -1, .high = 2, .summary = "how much"},
                WordOption("side", {"left", "right"}, "which"),
                SwitchOption("loud", true, "or not"),
                PathOption("where", "a file"),
                PathOption("other", "a folder", false),
                TextOption("named", "whatever")},
    .inputs = {"images"},
    .outputs = {"logits", "image"},
    .special_tokens = {"<pad>"},
    .score =
        {.name = "error", .higher_is_better = false, .chance = 3, .low = 0.5, .chance_of_any_rows = true},
    .rows_repeat = true};

// A note of this spec, with the plugin's ABI that a fixture has.
std::string NoteOf(const TaskSpec& spec) {
  const std::string tiny = ReadElfFile(testing::Fixture("tiny")).note;
  return tiny.substr(0, tiny.find("\"tasks\":[")) + Written([&](FactsWriter& writer) {
           writer.Raw("\"tasks\":["), writer.Object(spec), writer.Raw("],\"models\":[]}");
         });
}

TEST(SpecJson, ANoteIsReadAsItWasDeclared) {
  const TaskInfo task = ReadPluginNote(NoteOf(kUnusual)).tasks.at(0);
  EXPECT_EQ(task.variants.at(0).name, "default");
  EXPECT_EQ(task.variants.at(0).passes.at(0).Size("frames"), 150);
  EXPECT_EQ(task.variants.at(1).name, "short");
  EXPECT_EQ(task.variants.at(1).passes.at(0).name, "glance");
  EXPECT_EQ(task.FindOption("side")->Default(), OptionValue("left"));
  PluginFile file;
  file.path = "p.so", file.build_id = "12";
  EXPECT_EQ(TaskToJson(task, file).dump(), nlohmann::ordered_json::parse(R"({
    "name": "unusual", "version": "7", "summary": "has \"everything\"",
    "passes": [{"name": "look", "text_width": 9, "images": ["frame", "state"], "decodes_image": true,
                "carries": ["next"], "sizes": {"frames": 150, "series": 4}}],
    "terms": [{"name": "shape", "weight": 0.25, "max_items": 3, "stops_gradient": true},
              {"name": "place", "weight": 1.0, "max_items": 1, "counts_otherwise": true}],
    "variants": [{"name": "short",
                  "passes": [{"name": "glance", "text_width": 0, "images": [], "decodes_image": false,
                              "carries": [], "sizes": {}}],
                  "terms": [{"name": "shape", "weight": 1.0, "max_items": 1}], "summary": "one look"},
                 {"name": "silent",
                  "passes": [{"name": "glance", "text_width": 0, "images": [], "decodes_image": false,
                              "carries": [], "sizes": {}}],
                  "terms": [{"name": "shape", "weight": 1.0, "max_items": 1}]}],
    "constants": [{"name": "table", "rows": 5, "width": 2, "dtype": "float32"}],
    "options": [{"name": "share", "value": 0.5, "low": -1.0, "high": 2.0, "summary": "how much"},
                {"name": "side", "value": "left", "words": ["left", "right"], "summary": "which"},
                {"name": "loud", "value": true, "summary": "or not"},
                {"name": "where", "value": "", "path": "required", "summary": "a file"},
                {"name": "other", "value": "", "path": "optional", "summary": "a folder"},
                {"name": "named", "value": "", "summary": "whatever"}],
    "inputs": ["images"], "outputs": ["logits", "image"], "special_tokens": ["<pad>"],
    "score": {"name": "error", "higher_is_better": false, "chance": 3.0, "low": 0.5, "high": null,
              "chance_of_any_rows": true},
    "rows_repeat": true, "plugin": "p.so", "build_id": "12"})")
                                               .dump());
}

// What a note may lack, which older ones do: switches that are off, what a score need not say, and a word
// about a variant.
TEST(SpecJson, AnOlderNoteIsReadAsBefore) {
  std::string note = NoteOf(kUnusual);
  for (const std::string_view newer : {",\"low\":0.5,\"high\":null", ",\"summary\":\"one look\""}) {
    ASSERT_NE(note.find(newer), note.npos) << newer;
    note.erase(note.find(newer), newer.size());
  }
  const TaskInfo task = ReadPluginNote(note).tasks.at(0);
  EXPECT_EQ(task.score.chance, 3);
  EXPECT_FALSE(task.score.low.has_value());
  EXPECT_FALSE(task.variants.at(0).terms.at(0).counts_otherwise);
  EXPECT_EQ(task.variants.at(1).summary, "");
}

constexpr ModelSpec ModelWith(const TensorSpec& input) {
  return {.name = "m", .inputs = {input}, .outputs = {{.name = "y", .dimensions = {"rows"}}}};
}

// What is new says nothing where it is not given: notes of plugins that do not use it keep their bytes.
TEST(SpecJson, ABoundOfIntegersStandsInANoteOnlyWhereItIsGiven) {
  const auto written = [](const ModelSpec& spec) {
    return Written([&](FactsWriter& writer) { writer.Object(spec); });
  };
  const auto note_of = [&](const ModelSpec& spec) {
    const std::string tiny = ReadElfFile(testing::Fixture("tiny")).note;
    return tiny.substr(0, tiny.find("\"tasks\":[")) + "\"tasks\":[],\"models\":[" + written(spec) + "]}";
  };
  const ModelSpec plain = ModelWith({.name = "x", .dtype = "int64", .dimensions = {"rows"}});
  const ModelSpec bounded = ModelWith({.name = "x", .dtype = "int64", .dimensions = {"rows"}, .below = 7});
  EXPECT_EQ(written(plain).find("below"), std::string::npos);
  EXPECT_NE(
      written(bounded).find("{\"name\":\"x\",\"dtype\":\"int64\",\"dimensions\":[\"rows\"],\"times\":\"\","
                            "\"help\":\"\",\"below\":7}"),
      std::string::npos)
      << written(bounded);
  EXPECT_EQ(ReadPluginNote(note_of(plain)).models.at(0).inputs.at(0).below, 0);
  EXPECT_EQ(ReadPluginNote(note_of(bounded)).models.at(0).inputs.at(0).below, 7);
  const ModelSpec wrong = ModelWith({.name = "x", .dimensions = {"rows"}, .below = 7});
  EXPECT_FALSE(detail::TensorsAreGood(wrong, wrong.inputs)) << "of floats";
  EXPECT_THROW(ReadPluginNote(note_of(wrong)), Rejection);
}

TEST(SpecJson, AVariantsSummaryIsAShortLine) {
  const auto is_good = [](std::string_view summary) {
    TaskSpec spec = kUnusual;
    spec.variants = {{.name = "v", .passes = {{.name = "p"}}, .terms = {{.name = "t"}}, .summary = summary}};
    const bool by_compiler = VariantSummariesAreGood(spec);
    bool by_reader = true;
    try {
      EXPECT_EQ(ReadPluginNote(NoteOf(spec)).tasks.at(0).variants.at(1).summary, summary);
    } catch (const Rejection& rejection) {
      by_reader = false;
      EXPECT_NE(rejection.reason.find("a variant whose summary is no line of at most 200 bytes"),
                std::string::npos)
          << rejection.reason;
    }
    EXPECT_EQ(by_compiler, by_reader) << summary;
    return by_compiler;
  };
  for (const std::string& good :
       {std::string(), std::string("zwei Dr\u00e4hte, \"so\""), std::string(200, 'a')})
    EXPECT_TRUE(is_good(good)) << good;
  for (const std::string& bad : {std::string("a\nb"), std::string("a\tb"), std::string("\x1b[1m"),
                                 std::string("a\x7f"), std::string("a\0b", 3), std::string(201, 'a')})
    EXPECT_FALSE(is_good(bad)) << bad;
}

TEST(SpecJson, NoTextIsLongerThanAReaderTakes) {
  const std::string most(4096, 'a'), more(4097, 'a');
  TaskSpec spec = kUnusual;
  spec.options = {{.name = "o", .summary = most}};
  EXPECT_TRUE(facts::TextsFit(spec));
  EXPECT_EQ(ReadPluginNote(NoteOf(spec)).tasks.at(0).options.at(0).summary, most);
  spec.options = {{.name = "o", .summary = more}};
  EXPECT_FALSE(facts::TextsFit(spec));
  EXPECT_THROW(ReadPluginNote(NoteOf(spec)), Rejection);
  spec.options = {};
  spec.version = more;
  EXPECT_FALSE(facts::TextsFit(spec));
  EXPECT_THROW(ReadPluginNote(NoteOf(spec)), Rejection);
  spec.version = "1", spec.score.name = more;
  EXPECT_FALSE(facts::TextsFit(spec));
}

TEST(SpecJson, WhatAnAuthorCannotWriteIsABadNote) {
  const std::string note = NoteOf(kUnusual);
  const auto reason = [&](std::string_view from, std::string_view to) {
    std::string bad = note;
    bad.replace(bad.find(from), from.size(), to);
    try {
      ReadPluginNote(bad);
      return std::string("none");
    } catch (const Rejection& rejection) {
      return rejection.state + ": " + rejection.reason;
    }
  };
  constexpr std::string_view kAgain = "; build it again with this medley";
  const std::pair<std::array<std::string_view, 2>, std::string> cases[] = {
      {{"\"most\":4", "\"most\":0"}, "0 in 'most'"},
      {{"\"name\":\"frames\"", "\"name\":\"series\""}, "one name twice in 'sizes'"},
      {{"\"name\":\"place\"", "\"name\":\"shape\""}, "one name twice in 'terms'"},
      {{"\"text_width\":9", "\"text_width\":-9223372036854775808"}, "-9223372036854775808 in 'text_width'"},
      {{"\"text_width\":9", "\"text_width\":16777217"}, "16777217 in 'text_width'"},
      {{"\"name\":\"short\"", "\"name\":\"default\""}, "a further variant called 'default'"},
      {{"\"stops_gradient\":true", "\"stops_gradient\":1"}, "no true or false in 'stops_gradient'"},
      {{"\"images\":[\"frame\"", "\"images\":[5"}, "something else than texts in 'images'"},
      {{"\"float32\"", "\"float16\""}, "a constant that is neither int64 nor float32"},
      {{"\"value\":0.5", "\"value\":2.5"},
       "an option whose value is out of its range, or of a kind that is not known, or a word without words"},
      {{"\"kind\":3", "\"kind\":4"},
       "an option whose value is out of its range, or of a kind that is not known, or a word without words"},
      {{"\"high\":null", "\"high\":0.5"},
       "a score whose low is not below its high, or whose chance is not between them"},
      {{"\"chance\":3", "\"chance\":\"3\""}, "no number in 'chance'"}};
  for (const auto& [change, what] : cases)
    EXPECT_EQ(reason(change[0], change[1]), "bad note: its spec has " + what + std::string(kAgain))
        << change[1];
  EXPECT_EQ(reason("\"rows_repeat\"", "\"rows_rebeat\""),
            "bad note: its spec lacks 'rows_repeat'" + std::string(kAgain));
}

TEST(SpecCheck, NamesFollowTheRule) {
  for (const char* good : {"a", "zoom_gold", "x-1", "a0"}) EXPECT_TRUE(IsName(good)) << good;
  for (const char* bad : {"", "A", "1a", "_a", "a b", "a/b", "../a", "\u00e4"})
    EXPECT_FALSE(IsName(bad)) << bad;
  EXPECT_TRUE(IsName(std::string(64, 'a')));
  EXPECT_FALSE(IsName(std::string(65, 'a')));
}

}  // namespace
}  // namespace medley::detail
