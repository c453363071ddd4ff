#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/version.h>
#include <medley/plugin/plugin_host.h>
#include <medley/plugin/registry.h>
#include <medley/run/input_files.h>
#include <medley/run/validate.h>
#include <medley/text/load_tokenizer.h>
#include <medley/text/special_tokens.h>
#include <medley/text/tokenizer_trainer.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/scratch.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string corpus, config;
  OutputFileOption out{OutputKind::kVocabulary};
  std::vector<std::string> tasks;
  std::int64_t vocabulary = 768;
  NamedPlugins plugins;
};

void AddTrain(CLI::App& app, TrainArguments& arguments) {
  app.add_option("--corpus", arguments.corpus, "UTF-8 text, one item a line, beside the tasks' texts")
      ->type_name("FILE");
  app.add_option("--task", arguments.tasks, "only this task's texts; may be repeated")->type_name("NAME");
  arguments.out.AddTo(app, "--out", "the vocabulary to write")->required();
  app.add_option("--vocab", arguments.vocabulary, "tokens, special ones and bytes included")
      ->capture_default_str();
  AddPlugins(app, arguments.plugins);
  app.add_option("--config", arguments.config,
                 "a run config with the tasks' options, for those whose texts hang on them (on a file, say)")
      ->type_name("RUN");
}

// A run's options and control text. Its vocabulary may be the one that is to be made: the shipped one is
// looked at in its place, whatever weights the run begins with.
TextsRun ReadRun(const fs::path& config, const Registry& registry) {
  const fs::path vocabulary = ConfigDirectory() / "tokenizers" / "small.model";
  const CheckedRun checked = CheckRun(config, {"tokenizer=" + vocabulary.string()}, registry, RunAge::kBegun);
  TextsRun run;
  if (!checked.run.control_text.empty()) run.control_text = ReadControlText(checked.run.control_text);
  run.forms = FormTable(checked.run);
  return run;
}

std::vector<fs::path> PluginPathsOf(const TrainArguments& arguments) {
  if (arguments.config.empty()) return arguments.plugins.paths;
  return ConfirmPlugins(arguments.plugins, arguments.config, PluginPaths(arguments.config, {}));
}

// The corpus, then what the tasks may show, in the order of their names.
void Train(const TrainArguments& arguments) {
  arguments.out.Check();
  std::vector<std::string> texts;
  if (!arguments.corpus.empty()) texts.push_back(ReadFile(arguments.corpus));
  const Registry registry = ScanFor(arguments.config, {}, PluginPathsOf(arguments));
  TextsRun run = arguments.config.empty() ? TextsRun{} : ReadRun(arguments.config, registry);
  run.tasks = arguments.tasks;
  std::vector<std::string> left_out;
  const std::vector<std::string> shown = PluginHost::Texts(registry, run, &left_out);
  for (const std::string& task : left_out)
    std::cerr << "without the texts of " << task << ", which needs options: --config RUN gives them\n";
  texts.insert(texts.end(), shown.begin(), shown.end());
  // Each image carries its label, so that these few words are read more often than any of the corpus.
  constexpr int kLabelWeight = 50;
  for (int i = 0; i < kLabelWeight; ++i) {
    for (std::size_t image = 1; image <= 4; ++image) texts.push_back(ImageLabel(image));
  }
  const std::string model = TrainTokenizer(texts, arguments.vocabulary);
  const Scratch scratch;
  const auto tokenizer = LoadTokenizer(scratch.Write("tokenizer.model", model));  // before one is replaced
  arguments.out.Write(model);
  const std::size_t tasks = run.tasks.empty() ? registry.tasks().size() : run.tasks.size();
  std::FILE* const to = arguments.out.is_stream() ? stderr : stdout;
  std::fprintf(to, "%s: %lld tokens from %s%zu texts of %zu tasks, hash %s\n",
               DisplayPath(arguments.out.path()).c_str(), static_cast<long long>(tokenizer->size()),
               arguments.corpus.empty() ? "" : (DisplayPath(arguments.corpus) + " and ").c_str(),
               shown.size(), tasks - left_out.size(), tokenizer->hash().c_str());
}

void Show(const std::string& file, const std::string& text) {
  const auto tokenizer = LoadTokenizer(file);
  if (!text.empty()) {
    for (const std::int64_t id : tokenizer->Encode(text)) {
      std::printf("%6lld  %s\n", static_cast<long long>(id), tokenizer->Piece(id).c_str());
    }
    return;
  }
  for (std::int64_t id = 0; id < tokenizer->size(); ++id) {
    std::printf("%6lld  %s\n", static_cast<long long>(id), tokenizer->Piece(id).c_str());
  }
}

}  // namespace

int RunTokenizer(int argc, char** argv) {
  CLI::App app("Make a tokenizer, or look at one.", "tokenizer");
  app.require_subcommand(1);
  TrainArguments arguments;
  CLI::App* train = app.add_subcommand("train", "learn a vocabulary from the texts of tasks, and a corpus");
  AddTrain(*train, arguments);
  std::string file, text;
  CLI::App* show = app.add_subcommand("show", "print the tokens of a vocabulary, or those of a text");
  show->add_option("file", file, "the vocabulary")->required();
  show->add_option("--text", text, "a text to cut into tokens");
  if (!ParseArguments(app, argc, argv)) return 0;
  if (train->parsed()) Train(arguments);
  if (show->parsed()) Show(file, text);
  return 0;
}

}  // namespace medley
