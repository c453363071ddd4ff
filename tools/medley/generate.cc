#include <ATen/Functions.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/data/picture_file.h>
#include <medley/eval/pictures.h>
#include <medley/report/picture.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

Picture ReadInput(const std::filesystem::path& file, std::int64_t size) {
  Picture picture = ReadPicture(file);
  if (picture.width == size && picture.height == size) return picture;
  throw InputError(Printable(file) + " has " + std::to_string(picture.width) + " x " +
                   std::to_string(picture.height) + " pixels, this model looks at " + std::to_string(size) +
                   " x " + std::to_string(size) + "; resize the picture");
}

ModelInputs Inputs(const Run& run, const Picture& picture, const std::string& prompt) {
  const std::vector<std::int64_t> ids = run.tokenizer->Encode(prompt);
  if (ids.empty()) throw InputError("--prompt is empty");
  const auto width = static_cast<std::int64_t>(ids.size());
  at::Tensor tokens = at::empty({1, width}, at::kLong);
  std::copy(ids.begin(), ids.end(), tokens.mutable_data_ptr<std::int64_t>());
  return {{"images", TensorOf(picture).to(run.device), "picture"},
          {"tokens", tokens.to(run.device), ""},
          {"lengths", at::full({1}, width, at::kLong).to(run.device), ""}};
}

}  // namespace

int RunGenerate(int argc, char** argv) {
  CLI::App app(
      "Shows a picture and a prompt to a run's model: prints its reply, and writes the picture that it "
      "draws.",
      "medley generate");
  std::filesystem::path directory, image;
  OutputFileOption out(OutputKind::kPicture);
  std::string prompt, device;
  GenerateOptions options;
  app.add_option("DIR", directory, "the run's directory")->required();
  app.add_option("--image", image, "a PNG or JPEG picture of the model's size")->required();
  app.add_option("--prompt", prompt, "the text before the reply; special tokens by name")->required();
  out.AddTo(app, "--out", "where the drawn picture goes");
  app.add_option("--tokens", options.max_new_tokens, "most tokens of the reply")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  AddDevice(app, device);
  bool raw = false;
  AddRawWeights(app, raw);
  NamedPlugins plugins;
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;
  const SavedWeights kind = raw ? SavedWeights::kTrained : SavedWeights::kAveraged;

  if (out.is_named()) out.Check();
  // Before the run is read, which takes its time; a run that is not there comes first.
  if (const std::string problem = FileProblem(image); !problem.empty() && DirectoryProblem(directory).empty())
    throw InputError("--image: " + problem);
  Console console(stderr);
  const auto run = OpenTrainedRun(directory, console, device, plugins, {}, kind).run;
  const std::optional<ImageGeometry> pictures = run->model_file->Pictures();
  if (!pictures || !run->tokenizer)
    throw InputError("the model '" + run->model_file->info.name +
                     "' does not look at a picture and read a prompt; medley eval shows what it does");
  const Picture picture = ReadInput(image, pictures->size);
  options.decode_image = out.is_named();
  ForwardContext plain;
  const Generated generated = run->model->Generate(Inputs(*run, picture, prompt), options, plain);
  std::cout << run->tokenizer->Decode(generated.tokens.at(0)) << '\n';
  if (!out.is_named()) return 0;
  out.Write(EncodePng(PicturesOf(generated.image, 1).at(0)));
  console.Say("wrote " + Printable(out.path()));
  return 0;
}

}  // namespace medley
