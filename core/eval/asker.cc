#include <medley/eval/asker.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/random.h>
#include <medley/data/conversation_json.h>
#include <medley/data/picture_file.h>
#include <medley/data/resize_picture.h>
#include <medley/eval/pictures.h>
#include <medley/step/abandon.h>
#include <medley/task/text_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kMostReply = 256, kPlainReply = 16;
constexpr std::int64_t kShownClasses = 5;

at::Tensor ReadAt(const std::filesystem::path& file, const ImageGeometry& seen) {
  const Picture picture = ReadPicture(file);
  const std::int64_t size = seen.size;
  if (seen.rule.resizes) return TensorOf(ResizePicture(picture, size, seen.rule));
  if (picture.width == size && picture.height == size) return TensorOf(picture);
  throw InputError(DisplayPath(file) + " has " + std::to_string(picture.width) + " x " +
                   std::to_string(picture.height) + " pixels, this model looks at " + std::to_string(size) +
                   " x " + std::to_string(size) + "; resize the picture");
}

std::vector<std::string> PathsOf(const JsonItem& line) {
  for (const char* key : {"images", "image"}) {
    if (!line.Has(key)) continue;
    if (line.json().at(key).is_string()) return {line.Text(key)};
    return line.Texts(key);
  }
  return {};
}

// Items of contents that name a file; nothing where these are no turns, which their reader says.
std::size_t FilesIn(const JsonItem& line, const char* key) try {
  std::ptrdiff_t count = 0;
  for (const JsonItem& turn : line.Objects(key)) {
    const std::string content = ConversationReader::KeyOf(turn, {"content", "value"});
    if (!turn.Has(content) || !turn.json().at(content).is_array()) continue;
    count += std::ranges::count_if(turn.Objects(content), [](const JsonItem& item) {
      return !ConversationReader::FileKeyOf(item).empty();
    });
  }
  return static_cast<std::size_t>(count);
} catch (const InputError&) {
  return 0;
}

Asked ToDeviceOf(Asked asked, at::Device device) {
  for (ModelInput& input : asked.inputs) input.tensor = input.tensor.to(device);
  return asked;
}

std::vector<Reply> Classify(const Asked& asked, const AskSetting& setting) {
  ForwardContext plain;
  const at::Tensor logits =
      setting.model.Forward(asked.inputs, {asked.output}, plain).find(asked.output)->second;
  const auto classes = static_cast<std::int64_t>(asked.classes.size());
  if (logits.dim() != 2 || logits.size(1) != classes)
    throw Error("the model's '" + asked.output + "' has other sizes than [rows, " + std::to_string(classes) +
                "], which the task's classes are");
  const at::Tensor logs = at::log_softmax(logits.to(at::kCPU, at::kDouble), 1);
  const auto [likeliest, labels] = logs.topk(std::min(kShownClasses, classes), 1);
  std::vector<Reply> replies;
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    Reply reply;
    for (std::int64_t i = 0; i < labels.size(1); ++i) {
      const double log = likeliest[row][i].item<double>();
      const std::string& name = asked.classes[static_cast<std::size_t>(labels[row][i].item<std::int64_t>())];
      if (i == 0) reply.text = name, reply.log_probability = log;
      reply.classes.emplace_back(name, std::exp(log));
    }
    replies.push_back(std::move(reply));
  }
  return replies;
}

GenerateOptions OptionsOf(const Asked& asked, const AskSetting& setting,
                          const std::vector<std::size_t>& numbers) {
  GenerateOptions options{.temperature = setting.temperature,
                          .top_p = setting.top_p,
                          .seed = setting.seed,
                          .decode_image = setting.draws,
                          .ends = asked.ends,
                          .log_probabilities = setting.log_probabilities,
                          .cache = setting.cache,
                          .on_token = setting.on_token};
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    options.seeds.push_back(CombineSeeds(setting.seed, numbers[row]));
    options.most.push_back(setting.tokens ? *setting.tokens : DefaultTokens(asked, row));
  }
  options.max_new_tokens = *std::ranges::max_element(options.most);
  return options;
}

std::vector<Reply> Write(const Asked& asked, const AskSetting& setting,
                         const std::vector<std::size_t>& numbers) {
  ForwardContext plain;
  const Generated generated = setting.model.Generate(asked.inputs, OptionsOf(asked, setting, numbers), plain);
  std::vector<Reply> replies;
  std::vector<Picture> pictures;
  if (generated.image.defined())
    pictures = PicturesOf(generated.image, static_cast<std::int64_t>(numbers.size()));
  for (std::size_t row = 0; row < generated.tokens.size(); ++row) {
    const bool is_ended = row < generated.ends.size() && generated.ends[row] >= 0;
    replies.push_back({.text = setting.tokenizer->Decode(generated.tokens[row]),
                       .tokens = generated.tokens[row],
                       .end = is_ended            ? ReplyEnd::kEnded
                              : generated.stopped ? ReplyEnd::kInterrupted
                                                  : ReplyEnd::kCut});
    if (row < generated.log_probabilities.size())
      replies.back().log_probability = generated.log_probabilities[row];
    if (row < pictures.size()) replies.back().picture = std::move(pictures[row]);
  }
  return replies;
}

// Of the questions with these numbers.
std::vector<Reply> AskSome(const Asker& asker, const Questions& questions,
                           const std::vector<std::size_t>& numbers, const AskSetting& setting) {
  Questions some{.lines = {}, .folder = questions.folder};
  for (const std::size_t number : numbers) some.lines.push_back(questions.lines[number]);
  const Asked asked = ToDeviceOf(asker.Ask(some), setting.device);
  return asked.classes.empty() ? Write(asked, setting, numbers) : Classify(asked, setting);
}

// Questions that follow one another with as many pictures, at most so many.
std::vector<std::size_t> NextRows(const Questions& questions, std::size_t begin, std::int64_t most) {
  std::vector<std::size_t> numbers;
  const std::size_t pictures = PictureCount(questions.lines[begin]);
  for (std::size_t i = begin; i < questions.lines.size() && std::ssize(numbers) < most; ++i) {
    if (PictureCount(questions.lines[i]) != pictures) break;
    numbers.push_back(i);
  }
  return numbers;
}

}  // namespace

Asker::~Asker() = default;

AskForm PlainAsker::form() const {
  AskForm form{.kind = AnswerKind::kWords};
  if (pictures_) {
    const std::string size = std::to_string(pictures_->size);
    form.files = pictures_->rule.resizes ? "pictures, PNG or JPEG"
                                         : "pictures of " + size + " x " + size + " pixels, PNG or JPEG";
  }
  return form;
}

std::vector<at::Tensor> PlainAsker::PicturesOf(const JsonItem& line,
                                               const std::filesystem::path& folder) const {
  std::vector<at::Tensor> pictures;
  for (const std::string& path : PathsOf(line)) {
    if (!pictures_) line.Fail("the model looks at no pictures; leave them out");
    try {
      pictures.push_back(ReadAt(folder / path, *pictures_));
    } catch (const InputError& error) {
      line.Fail(error.what());
    }
  }
  return pictures;
}

Asked PlainAsker::Ask(const Questions& questions) const {
  std::vector<std::vector<std::int64_t>> prompts;
  std::vector<std::vector<at::Tensor>> pictures;  // by place, of each row
  std::vector<std::int64_t> lengths;
  Asked asked;
  for (const JsonItem& line : questions.lines) {
    for (const char* key : {"messages", "turns", "conversations"}) {
      if (line.Has(key)) line.Fail(key, "no task is asked, which has conversations; expected \"prompt\"");
    }
    prompts.push_back(tokenizer_.Encode(line.Text("prompt")));
    if (prompts.back().empty()) line.Fail("the prompt is empty");
    lengths.push_back(std::ssize(prompts.back()));
    const std::vector<at::Tensor> own = PicturesOf(line, questions.folder);
    pictures.resize(std::max(pictures.size(), own.size()));
    for (std::size_t i = 0; i < own.size(); ++i) pictures[i].push_back(own[i]);
  }
  for (const std::vector<at::Tensor>& place : pictures)
    asked.inputs.push_back({"images", at::cat(place), "picture " + std::to_string(asked.inputs.size())});
  const std::int64_t width = *std::ranges::max_element(lengths);
  asked.inputs.push_back({"tokens", PadRows(prompts, width, tokenizer_.pad()), ""});
  asked.inputs.push_back({"lengths", IntColumn(lengths), ""});
  return asked;
}

std::size_t PictureCount(const JsonItem& line) {
  for (const char* key : {"messages", "turns", "conversations", "prompt"}) {
    if (!line.Has(key) || !line.json().at(key).is_array()) continue;
    if (const std::size_t files = FilesIn(line, key); files > 0) return files;
  }
  for (const char* key : {"images", "image"}) {
    if (!line.Has(key)) continue;
    const nlohmann::json& value = line.json().at(key);
    return value.is_array() ? value.size() : 1;
  }
  return 0;
}

std::int64_t DefaultTokens(const Asked& asked, std::size_t row) {
  return asked.room.empty() ? kPlainReply : std::clamp<std::int64_t>(asked.room[row], 1, kMostReply);
}

void AskAll(const Asker& asker, const Questions& questions, const AskSetting& setting,
            std::vector<Reply>& replies, const std::function<bool()>& go_on) {
  const at::NoGradGuard no_grad;
  std::int64_t at_once = std::max<std::int64_t>(setting.rows_at_once, 1);
  for (std::size_t next = 0; next < questions.lines.size();) {
    const std::vector<std::size_t> numbers = NextRows(questions, next, at_once);
    try {
      for (Reply& reply : AskSome(asker, questions, numbers, setting)) replies.push_back(std::move(reply));
      next += numbers.size();
    } catch (const InputError&) {
      if (numbers.size() <= 1) throw;
      at_once = 1;  // those in front of the wrong one are answered
    } catch (const c10::OutOfMemoryError&) {
      if (numbers.size() <= 1) throw;
      AbandonForward(setting.device);
      at_once = std::ssize(numbers) / 2;
    }
    if (go_on && !go_on()) return;
  }
}

}  // namespace medley
