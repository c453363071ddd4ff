// The readers that need no libtorch, but for those of logs.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/checkpoint/section.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/curriculum_changes.h>
#include <medley/curriculum/forecast.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/weight_log.h>
#include <medley/data/csv_file.h>
#include <medley/data/jsonl_file.h>
#include <medley/estimate/gpu.h>
#include <medley/model/language_fields.h>
#include <medley/model/lora_targets.h>
#include <medley/model/tower_fields.h>
#include <medley/plan/plan.h>
#include <medley/plan/profile.h>
#include <medley/plan/receipt.h>
#include <medley/plugin/model_file.h>
#include <medley/run/input_files.h>
#include <medley/text/chat_file.h>
#include <medley/text/load_tokenizer.h>
#include <medley/weights/model_config_file.h>
#include <medley/weights/peft_config.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_tower.h>

#include "core/plugin/elf_file.h"
#include "core/plugin/python_source.h"
#include "core/plugin/python_task.h"
#include "core/plugin/rejection.h"
#include "core/plugin/spec_reader.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

void ReadAnyJson(const std::string& bytes) {
  const JsonDocument document = ParseJson(bytes);
  const bool good = document.parsed && document.problems.empty();
  try {
    const auto plain = ReadJson<json>(bytes, "file.json");
    const auto ordered = ReadJson(bytes, "file.json");
    if (!good || plain != json::parse(bytes) || json(ordered) != plain) std::abort();
  } catch (const InputError&) {
    if (good) std::abort();  // the two readers do not agree
    throw;
  }
}

// What the configs of the corpus name must be there.
void WriteInputs() {
  for (const char* name :
       {"models/agent-tiny.json", "tokenizers/small.model", "weights/quickstart.json", "texts/control.txt"})
    Written(name, "any");
}

void ReadRun(const std::string& bytes) {
  static const bool once = (WriteInputs(), true);
  static_cast<void>(once);
  ToJson(ReadRunConfig(Written("runs/run.json", bytes)));
}
void ReadWeights(const std::string& bytes) {
  WithAbsoluteSchema(bytes, "/somewhere");
  const Curriculum curriculum = ReadCurriculum(Written("weights.json", bytes));
  ToJson(curriculum);
  ChangesOf(curriculum, OneStage({{"control", 1.0}}), 0);
  EditInWords(curriculum, OneStage({{"control", 1.0}}), 0);
  std::map<std::string, TaskSize> sizes;
  for (const std::string& task : curriculum.All()) sizes[task] = {};
  ForecastRun(curriculum, {.sizes = sizes, .steps = 20, .eval_every = 5});
}

void ReadAWeightLog(const std::string& bytes) {
  WeightLog log(Written("weight_log/weights.jsonl", bytes).parent_path());
  log.LastText();
  // What was read is written so that it is read again.
  const WeightLines again = ReadWeightLines(log.FileText());
  if (!again.problem.empty() || again.lines.size() != log.entries().size()) std::abort();
  ContinueWeightLines(log.Kept(), bytes, "{}");
  log.GoBackTo(3);
  log.Text();
}
void ReadModel(const std::string& bytes) {
  const ModelFile model = ReadModelFile(Written("model.json", bytes), Registry());
  ToJson(model.config, model.info);
}

// What is read is written so that it is read again.
void ReadPublishedConfig(const std::string& bytes) {
  const PretrainedConfig config = ReadPretrainedConfig(Written("published/config.json", bytes).parent_path());
  const std::string again = ToJson(config, "float32").dump();
  const PretrainedConfig same = ReadPretrainedConfig(Written("published/config.json", again).parent_path());
  if (FieldsOf(same.language) != FieldsOf(config.language) || same.architecture != config.architecture)
    std::abort();
}

void ReadPublishedTower(const std::string& bytes) {
  ReadPretrainedTower(Written("tower/config.json", bytes).parent_path());
}
// Beside a good config.json.
void ReadPreprocessor(const std::string& bytes) {
  const fs::path file = Written("preparing/preprocessor_config.json", bytes);
  Written("preparing/config.json", R"({"model_type": "clip_vision_model", "image_size": 224})");
  FieldsOf(ReadPretrainedTower(file.parent_path()).tower);
}

// Its targets are held against names that a language has.
void ReadAdapterConfig(const std::string& bytes) {
  const PeftConfig config = ReadPeftConfig(Written("adapter/adapter_config.json", bytes).parent_path());
  LoraTargets targets(config.lora);
  for (const char* map : {"model.layers.0.self_attn.q_proj", "model.layers.11.mlp.down_proj"})
    targets.Take(map, 64, 64);
  targets.Check();
}

// One a line, over a small good config.
void ReadOverrides(const std::string& bytes) {
  static const fs::path file = Written("any", "any");
  static const fs::path config =
      Written("good.json", R"({"model": "any", "tokenizer": "any", "weights": "any", "control_text": "any",
                               "tasks": {"a": {"rows": 2}, "b": {}}})");
  std::vector<std::string> overrides(1);
  for (const char c : bytes) {
    if (c == '\n')
      overrides.emplace_back();
    else
      overrides.back() += c;
  }
  ToJson(ReadRunConfig(config, overrides));
}

// Behind a good seal, which only an accident or a forger passes.
void ReadSealedManifest(const std::string& bytes) {
  const ordered_json seal = {
      {"format", 1}, {"step", 1}, {"manifest_bytes", bytes.size()}, {"manifest_xxh3_128", HashText(bytes)}};
  Written("step-00000001/seal", seal.dump() + "\n");
  ReadManifest(Written("step-00000001/manifest.json", bytes).parent_path());
}

void ReadSeal(const std::string& bytes) {
  Written("step-00000002/manifest.json",
          R"({"format":1,"step":2,"chunk_bytes":16777216,"files":{},"facts":{}})");
  ReadManifest(Written("step-00000002/seal", bytes).parent_path());
}

void ReadSections(const std::string& bytes) {
  Mixer mixer({.weights = {{"a", 1.0}, {"b", 2.0}}}, {{"a", {}}, {"b", {}}}, 7);
  Receipt receipt;
  const auto nothing = [] { return json(); };
  LoadSections(
      {{"mixer", 1, nothing, [&](const json& state) { mixer.Load(state); }},
       {"receipt", 1, nothing, [&](const json& state) { receipt = Receipt::FromJson(state); }, true}},
      ReadJson(bytes, "state.json"));
  for (int i = 0; i < 8; ++i) mixer.Commit(mixer.Peek(2));
  ReceiptTable(receipt);
}

void ReadLock(const std::string& bytes) { RunLock(Written("lock/run.lock", bytes).parent_path()); }
void ReadRecord(const std::string& bytes) { ReadRunRecord(Written("record/run.json", bytes).parent_path()); }

void ReadAProfile(const std::string& bytes) {
  const Profile profile = ReadProfile(Written("profile.json", bytes));
  if (ToJson(ProfileFromJson(ToJson(profile), "")) != ToJson(profile)) std::abort();
  std::vector<TaskRequest> requests;
  for (const auto& [form, modes] : profile.tasks)
    requests.push_back({.form = {.task = form.text(), .settings = {}, .id = form}, .rows = 8});
  try {
    PlanTable(MakePlan(profile, requests, {.budget = std::int64_t{1} << 30}));
  } catch (const DoesNotFit&) {  // as it should be said
  }
}

void ReadAPlan(const std::string& bytes) {
  PlanTable(PlanFromJson(ReadJson(bytes, "plan.json"), "plan.json"));
}
void ReadAReceipt(const std::string& bytes) {
  const Receipt receipt = Receipt::FromJson(ReadJson(bytes, "receipt.json"));
  ReceiptTable(receipt);
  StagesTable(receipt.stages());
}

void ReadAGpu(const std::string& bytes) { ReadGpu(Written("gpu.json", bytes)); }
void ReadAChatFormat(const std::string& bytes) { ToJson(ReadChatFile(Written("chat.json", bytes))); }

void ReadControlText(const std::string& bytes) {
  const std::string problem = ControlTextProblem(Written("control.txt", bytes));
  if (!problem.empty()) throw Error(problem);
}

// The look at its frame, and the library's.
void ReadVocabularyOf(const std::string& name, const std::string& bytes) {
  const fs::path file = Written(name, bytes);
  std::string problem;
  try {
    medley::ReadVocabulary(file);
  } catch (const InputError& error) {
    problem = error.what();
  }
  VocabularyPieces(file);
  const auto tokenizer = LoadTokenizer(file);
  tokenizer->Decode(
      tokenizer->Encode("Go to the gold<eos> at  12, [left] it's e\xcc\x81\xc3\xa9\xe2\x96\x81.\n\xff"));
  for (std::int64_t id = 0; id < tokenizer->size(); ++id) tokenizer->Piece(id);
  if (!problem.empty()) throw Error(problem);
}
void ReadVocabulary(const std::string& bytes) { ReadVocabularyOf("few.model", bytes); }
void ReadATokenizerJson(const std::string& bytes) { ReadVocabularyOf("tokenizer.json", bytes); }

template <typename Fn>
void AsError(Fn read) {
  try {
    read();
  } catch (const Rejection& rejection) {
    throw Error(rejection.reason);
  }
}

void ReadElf(const std::string& bytes) {
  const fs::path file = Written("plugin.so", bytes);
  ReadBuildId(file);
  AsError([&] { ReadPluginNote(ReadElfFile(file).note); });
}

void ReadNote(const std::string& bytes) {
  AsError([&] { ReadPluginNote(bytes); });
}

void ReadPython(const std::string& bytes) {
  try {
    ImportsOf(bytes);
    for (const PythonValue& spec : ReadPythonSource(bytes).specs) {
      spec.ToJson().dump();
      TaskOf(spec);
    }
  } catch (const PythonProblem& problem) {
    throw InputError("line " + std::to_string(problem.line) + ": " + problem.words);
  }
}

// Every item of a task's own file, which is read through each time: nobody's cache is written to.
template <typename File>
void ReadItems(const std::string& name, const std::string& bytes) {
  static const bool once = (unsetenv("XDG_CACHE_HOME"), unsetenv("HOME"), true);
  static_cast<void>(once);
  const File file(Written(name, bytes));
  for (std::int64_t item = 0; item < file.size(); ++item) file.Read(item);
}
// Whatever is asked of a line, nothing but an InputError comes.
void ReadJsonl(const std::string& bytes) {
  ReadItems<JsonlFile>("items.jsonl", bytes);
  const JsonlFile file(Written("items.jsonl", bytes));
  const JsonItem item = file.size() > 0 ? file.Read(0) : throw InputError("items.jsonl has no line");
  const std::vector<std::function<void()>> reads = {
      [&] { item.Text("a"); },     [&] { item.Integer("a"); }, [&] { item.Numbers("b"); },
      [&] { item.Integers("b"); }, [&] { item.Texts("b"); },   [&] { item.Objects("b").at(0).Switch("a"); }};
  for (const auto& read : reads) {
    try {
      read();
    } catch (const InputError&) {
    } catch (const std::out_of_range&) {  // at(0)
    }
  }
}
// What is a list as a whole is read, and has the same elements.
void ReadJsonList(const std::string& bytes) {
  json whole;
  try {
    whole = ReadJson<json>(bytes, "items.json");
  } catch (const InputError&) {
  }
  json items = json::array();
  try {
    const JsonlFile file = JsonlFile::OfElements(Written("items.json", bytes));
    for (std::int64_t item = 0; item < file.size(); ++item) items.push_back(file.Read(item).json());
  } catch (const InputError&) {
    if (whole.is_array()) std::abort();
    throw;
  }
  if (whole.is_array() && whole != items) std::abort();
}
void ReadCsv(const std::string& bytes) { ReadItems<CsvFile>("items.csv", bytes); }

}  // namespace

std::vector<Reader> Readers() {
  std::vector<Reader> readers = {{"json", true, ReadAnyJson},
                                 {"run", true, ReadRun},
                                 {"weights", true, ReadWeights},
                                 {"weight_log", true, ReadAWeightLog},
                                 {"model", true, ReadModel},
                                 {"pretrained", true, ReadPublishedConfig},
                                 {"pretrained_tower", true, ReadPublishedTower},
                                 {"preprocessor", true, ReadPreprocessor},
                                 {"overrides", true, ReadOverrides},
                                 {"manifest", true, ReadSealedManifest},
                                 {"seal", true, ReadSeal},
                                 {"sections", true, ReadSections},
                                 {"lock", true, ReadLock},
                                 {"record", true, ReadRecord},
                                 {"profile", true, ReadAProfile},
                                 {"plan", true, ReadAPlan},
                                 {"receipt", true, ReadAReceipt},
                                 {"gpu", true, ReadAGpu},
                                 {"chat_format", true, ReadAChatFormat},
                                 {"peft", true, ReadAdapterConfig},
                                 {"control_text", false, ReadControlText},
                                 {"tokenizer_json", true, ReadATokenizerJson},
                                 {"vocabulary", false, ReadVocabulary},
                                 {"elf", false, ReadElf},
                                 {"note", true, ReadNote},
                                 {"python_file", false, ReadPython},
                                 {.name = "jsonl", .read = ReadJsonl, .file = "items.jsonl"},
                                 {.name = "json_list", .read = ReadJsonList, .file = "items.json"},
                                 {.name = "csv", .json = false, .read = ReadCsv, .file = "items.csv"}};
  for (const auto& more : {LogReaders, PictureReaders, SignReaders, TalkReaders}) {
    for (Reader& reader : more()) readers.push_back(std::move(reader));
  }
  return readers;
}

}  // namespace medley::fuzz
