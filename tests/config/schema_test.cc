#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/random.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/estimate/gpu.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/model/model_info.h>
#include <medley/text/chat_file.h>
#include <medley/weights/model_config_file.h>

#include "config/config_testing.h"
#include "tests/follows_schema.h"
#include "tests/sweep.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

// One kind of config file: its published schema, its reader and where the shipped ones lie.
struct SchemaKind {
  const char* name;
  const char* directory;
  ordered_json schema;
  std::string (*mistakes)(const fs::path&);
};

template <typename Config>
std::string Mistakes(const fs::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  Config config;
  ReadConfig(file, config);
  return diagnostics.Text();
}

std::string ModelMistakes(const fs::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  ReadModelConfig(file, InfoOf(kAgentSpec));
  return diagnostics.Text();
}

std::string ChatMistakes(const fs::path& path) {
  try {
    ReadChatFile(path);
  } catch (const InputError& error) {
    const std::string words = error.what();
    return words.find(" mistakes in the input\n") < words.find('\n') ? words.substr(words.find('\n') + 1)
                                                                     : words;
  }
  return "";
}

const std::vector<SchemaKind>& Kinds() {
  static const std::vector<SchemaKind> kinds = {
      {"run", "runs", RunConfigSchema(), &Mistakes<RunConfig>},
      {"weights", "weights", CurriculumSchema(), &Mistakes<Curriculum>},
      {"model", "models", ModelSchema(InfoOf(kAgentSpec)), &ModelMistakes},
      {"gpu", "gpus", GpuSchema(), &Mistakes<GpuConfig>},
      {"chat", "chats", ChatSchema(), &ChatMistakes},
  };
  return kinds;
}

fs::path Source(const std::string& path) { return fs::path(MEDLEY_SOURCE_DIR) / path; }

bool FollowsSchema(const ordered_json& schema, const json& document) {
  return test::FollowsSchema(json::parse(schema.dump()), document);
}

std::vector<fs::path> Shipped(const SchemaKind& kind) {
  std::vector<fs::path> files;
  if (!fs::exists(Source("configs") / kind.directory)) return files;
  for (const auto& entry : fs::directory_iterator(Source("configs") / kind.directory)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

// Documents of a kind whose paths exist in the workspace.
std::vector<json> Examples(const SchemaKind& kind, const Workspace& work) {
  if (kind.name == std::string("weights")) {
    return {json::parse(
                R"({"$schema": "s", "unit": "rows", "order": "deficit", "weights": {"alpha": 3, "beta": 0.5},
                "ramp": {"draws": 4}})"),
            json::parse(R"({"comment": "two", "unit": "steps", "stages": [
            {"name": "first", "comment": "one", "weights": {"alpha": 3, "comment": "c", "beta": 0.5}, "warmup": 3,
             "until": {"any": [{"score": "alpha", "at_least": 0.8, "evaluations": 2}, {"steps": 30}, {"rows": 9},
                               {"all": [{"loss": "beta", "below": 2}, {"rows": 8, "of": "alpha", "comment": "r"}]}]},
             "cooldown": 4, "cooldown_to": 0, "keep": true, "eval_every": 10},
            {"name": "second", "weights": {"beta": 1}, "ramp": {"draws": 20, "shape": "cosine"}, "moments": "reset",
             "until": {"score": "alpha", "at_most": 1}}]})")};
  }
  if (kind.name == std::string("model")) {
    const ModelInfo info = InfoOf(kAgentSpec);
    const json full = json::parse(ToJson(ModelConfig(info), info).dump());
    return {full, json::parse(Workspace::kModel)};
  }
  if (kind.name == std::string("gpu")) {
    return {json::parse(
        R"({"name": "a card", "memory": "8 GiB", "context": "400 MiB", "workspace": "8.125 MiB"})")};
  }
  if (kind.name == std::string("chat")) {
    return {json::parse(
        R"({"$schema": "s", "name": "own", "head": "<u>", "system": "<s>", "after_system": "<u>", "to_assistant": "<a>",
        "to_last": "<a>!", "to_user": "<e><u>", "tail": "<e>", "user_tail": "", "generation": "<a>!", "end": "<e>",
        "trims": {"user": {"front": "lines", "back": "blanks"}}, "answers_without": ["x"], "alternates": true,
        "image": "<i>", "images_first": true, "trims_pieces": true, "image_drops": ">"})")};
  }
  const auto file =
      work.WriteRun(R"("init_from": {"run": ".", "match": ["a"]}, "plugin_path": ["."], "budget": "6GiB",
    "lora": {"rank": 4, "targets": ["q_proj"], "tokens": [7], "pretrained": "adapter"},
    "optimizer": {"name": "muon", "trend": {"gamma": 0},
                  "groups": [{"match": "a*", "frozen": true}, {"match": "b", "weight_decay": 0, "rule": "adamw"}]},
    "tasks": {"alpha": {"rows": 64, "micro_rows": 16, "mode": "joint", "options": {"x": 0.1}, "terms": {"t": 2}},
              "beta": {"rows": "auto"}})");
  return {json::parse(ToJson(ReadRunConfig(file)).dump()), json::parse(ReadFile(work.WriteRun()))};
}

// Mistakes that no schema of one file can see: sums, sizes that must fit each other, files that must be
// there.
bool OnlyTogether(const std::string& mistakes) {
  std::istringstream lines(mistakes);
  for (std::string line; std::getline(lines, line);) {
    bool together = false;
    for (const char* words : {"no such file",
                              "no such directory",
                              "is a directory; expected",
                              "is a file; expected",
                              "divisor",
                              "multiple of",
                              "even number",
                              "at most the draw's",
                              "in one forward; leave it out",
                              "needs the planner",
                              "give the rank of the adapters",
                              "is no regular expression",
                              "every weight is 0",
                              "less than one part",
                              "whole number of cards",
                              "a number of bytes such as",
                              "expected bytes (6GiB",
                              "context and workspace take",
                              "expected at least one task",
                              "more than 1000000 cards",
                              "the stages behind it would never begin",
                              "the stage has none",
                              "and the stage has none",
                              "waits for no score",
                              "stands neither in to_user nor in tail",
                              "stands in none of the strings",
                              "without system none are there",
                              "is about pictures among words",
                              "expected system, user, assistant or last",
                              "leave it out of the first stage",
                              "the group is frozen",
                              "nothing has Muon here",
                              "needs a warm-up and a learning rate that stays",
                              "a ramp needs the order",
                              "no stage draws this task",
                              "the stage does not draw this task",
                              " too; give each a name of its own"}) {
      together = together || Has(line, words);
    }
    if (!together) return false;
  }
  return true;
}

// A random place of a document.
json& Pick(json& node, RowRandom& random) {
  if (!node.is_structured() || node.empty() || random.Below(3) == 0) return node;
  auto item = node.begin();
  std::advance(item, random.Below(static_cast<std::int64_t>(node.size())));
  return Pick(*item, random);
}

json RandomValue(RowRandom& random) {
  static const std::vector<json> values = {nullptr,
                                           true,
                                           false,
                                           0,
                                           1,
                                           -1,
                                           2,
                                           3.5,
                                           -0.25,
                                           1e-9,
                                           1e15,
                                           1e300,
                                           128,
                                           4096,
                                           "",
                                           "text",
                                           "auto",
                                           "joint",
                                           "urn",
                                           "rows",
                                           "cpu",
                                           "model.json",
                                           json::array(),
                                           json::object(),
                                           json::array({1}),
                                           json{{"rows", 4}},
                                           json{{"match", "x"}},
                                           4.0,
                                           9007199254740993};
  return values[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(values.size())))];
}

json Mutated(json document, RowRandom& random) {
  const auto changes = 1 + random.Below(3);
  for (std::int64_t i = 0; i < changes; ++i) {
    json& place = Pick(document, random);
    const std::int64_t how = random.Below(4);
    if (how == 0 && place.is_object() && !place.empty()) {
      auto item = place.begin();
      std::advance(item, random.Below(static_cast<std::int64_t>(place.size())));
      place.erase(item);
    } else if (how == 1 && place.is_object()) {
      place[random.Coin() ? "rows" : "extra"] = RandomValue(random);
    } else if (&place != &document || random.Below(20) == 0) {
      place = RandomValue(random);
    }
  }
  return document;
}

TEST(Schemas, ThePublishedOnesAreWhatTheCodeSays) {
  for (const SchemaKind& kind : Kinds()) {
    const std::string file = std::string("configs/schema/") + kind.name + ".schema.json";
    EXPECT_EQ(ReadFile(Source(file)), kind.schema.dump(2) + "\n")
        << "run: medley validate --schema " << kind.name << " > " << file;
  }
}

TEST(Schemas, EveryShippedConfigFollowsItsSchemaAndItsReader) {
  for (const SchemaKind& kind : Kinds()) {
    for (const fs::path& file : Shipped(kind)) {
      EXPECT_TRUE(FollowsSchema(kind.schema, json::parse(ReadFile(file)))) << file;
      EXPECT_TRUE(OnlyTogether(kind.mistakes(file))) << file << "\n" << kind.mistakes(file);
    }
  }
}

TEST(Schemas, AgreeWithTheReadersOnMutatedDocuments) {
  const Workspace work;
  for (const SchemaKind& kind : Kinds()) {
    int refused = 0, accepted = 0;
    for (const json& example : Examples(kind, work)) {
      ASSERT_TRUE(FollowsSchema(kind.schema, example)) << example.dump(1);
      for (std::uint64_t seed = 0; seed < 500; ++seed) {
        RowRandom random(CombineSeeds(seed, HashName(kind.name)));
        const json document = Mutated(example, random);
        const std::string mistakes = kind.mistakes(work.Write("mutated.json", document.dump(1)));
        const bool follows = FollowsSchema(kind.schema, document);
        (follows ? accepted : refused) += 1;
        if (follows) {
          ASSERT_TRUE(OnlyTogether(mistakes)) << kind.name << " seed " << seed << "\n"
                                              << mistakes << document.dump(1);
        } else {
          ASSERT_NE(mistakes, "") << kind.name << " seed " << seed << "\n" << document.dump(1);
        }
      }
    }
    EXPECT_GT(refused, 100) << kind.name;
    EXPECT_GT(accepted, 20) << kind.name;
  }
}

// Every way to mistype a word by one edit with a few letters.
std::vector<std::string> OneEdit(const std::string& word) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i <= word.size(); ++i) {
    for (const char letter : std::string("aZ_")) {
      all.push_back(word.substr(0, i) + letter + word.substr(i));
      if (i < word.size()) all.push_back(word.substr(0, i) + letter + word.substr(i + 1));
    }
    if (i < word.size()) all.push_back(word.substr(0, i) + word.substr(i + 1));
    if (i + 1 < word.size()) {
      std::string swapped = word;
      std::swap(swapped[i], swapped[i + 1]);
      all.push_back(swapped);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

using Keys = std::vector<std::tuple<json::json_pointer, std::string, std::vector<std::string>>>;

// Of several kinds of object the one that a document is; a reference is followed.
const ordered_json& SchemaFor(const ordered_json& whole, const ordered_json& schema, const json& document) {
  if (schema.contains("allOf")) {
    const auto reference = schema["allOf"][0]["$ref"].get<std::string>();  // "#/definitions/..."
    return SchemaFor(whole, whole.at(ordered_json::json_pointer(reference.substr(1))), document);
  }
  if (schema.contains("properties") || !schema.contains("oneOf")) return schema;
  for (const ordered_json& kind : schema["oneOf"]) {
    if (document.contains(kind["required"][0].get<std::string>())) return kind;
  }
  return schema;
}

// The keys of an object that have names of their own: not the tasks' and the options', which the user chose.
void CollectKeys(const ordered_json& whole, const ordered_json& any_schema, const json& document,
                 const json::json_pointer& at, Keys& keys) {
  const ordered_json& schema = SchemaFor(whole, any_schema, document);
  if (document.is_array()) {
    for (std::size_t i = 0; i < document.size(); ++i)
      CollectKeys(whole, schema["items"], document[i], at / i, keys);
  }
  if (!document.is_object()) return;
  std::vector<std::string> siblings;
  for (const auto& item : schema["properties"].items()) siblings.push_back(item.key());
  for (const auto& [key, value] : document.items()) {
    if (schema["additionalProperties"].is_object()) {
      if (key != kComment) CollectKeys(whole, schema["additionalProperties"], value, at / key, keys);
    } else if (key.find('.') == std::string::npos) {  // dotted keys have words of their own
      keys.emplace_back(at, key, siblings);
      CollectKeys(whole, schema["properties"][key], value, at / key, keys);
    }
  }
}

struct Typo {
  const SchemaKind* kind;
  const json* example;
  json::json_pointer at;
  std::string key, typo;
};

TEST(Suggestions, EveryKeyOfEveryExampleMistypedByOneEditIsRefusedWithTheRightOne) {
  const Workspace work;
  std::list<json> examples;
  std::vector<Typo> all;
  for (const SchemaKind& kind : Kinds()) {
    std::vector<json> of_kind = Examples(kind, work);
    for (const fs::path& file : Shipped(kind)) of_kind.push_back(json::parse(ReadFile(file)));
    for (json& example : of_kind) {
      examples.push_back(std::move(example));
      Keys keys;
      CollectKeys(kind.schema, kind.schema, examples.back(), json::json_pointer(), keys);
      for (const auto& [at, key, siblings] : keys) {
        for (const std::string& typo : OneEdit(key))
          if (std::find(siblings.begin(), siblings.end(), typo) == siblings.end())
            all.push_back({&kind, &examples.back(), at, key, typo});
      }
    }
  }
  EXPECT_GT(all.size(), 5000u);
  for (const auto& [kind, example, at, key, typo] : test::Slice("MistypedKeys", all, 5)) {
    json document = *example;
    document[at][typo] = document[at][key];
    document[at].erase(key);
    const std::string mistakes = kind->mistakes(work.Write("typo.json", document.dump(1)));
    const std::size_t start = mistakes.find(typo + ": unknown key; did you mean ");
    ASSERT_NE(start, std::string::npos) << typo << " for " << key << "\n" << mistakes;
    const std::string suggestion = mistakes.substr(start, mistakes.find("? (allowed", start) - start);
    ASSERT_TRUE(Has(suggestion, "'" + key + "'")) << typo << " for " << key << "\n" << mistakes;
  }
}

}  // namespace
}  // namespace medley::testing
