#include <medley/page/page_sheets.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/input_file.h>
#include <medley/report/event_images.h>
#include <medley/report/tensorboard.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMostOfPictures = 3 << 19;  // bytes, before they are written as text
constexpr std::size_t kMostEvaluations = 40, kMostOfWords = 4000;
constexpr std::string_view kTag = "sheet/";

std::string Base64(const std::string& bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kLetters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

// A sheet of a page: its picture, with the step of its weights in front.
ordered_json PictureOf(const json& step, const std::string& png) { return {step, Base64(png)}; }

// Those of the files that medley eval writes.
class ScoredSheets {
 public:
  explicit ScoredSheets(const fs::path& run) {
    for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
      const std::string name = entry.path().stem().string(), type = entry.path().extension().string();
      if (!name.starts_with("sheet-")) continue;
      const std::string task = name.substr(6);
      if (type == ".png") pictures_[task] = ReadFile(entry.path());
      if (type == ".txt") words_[task] = ReadFile(entry.path()).substr(0, kMostOfWords);
    }
  }
  const std::map<std::string, std::string>& pictures() const { return pictures_; }
  const std::map<std::string, std::string>& words() const { return words_; }

 private:
  std::map<std::string, std::string> pictures_, words_;
};

// The evaluations whose pictures fit, the last first, then evenly from the others.
std::vector<EventImage> Chosen(const std::vector<EventImage>& images, std::int64_t room) {
  std::map<std::int64_t, std::int64_t> bytes;  // by step
  for (const EventImage& image : images) bytes[image.step] += image.bytes;
  std::vector<std::int64_t> steps;
  std::int64_t largest = 1;
  for (const auto& [step, size] : bytes) {
    steps.push_back(step);
    largest = std::max(largest, size);
  }
  const std::size_t most = std::min(
      {steps.size(), kMostEvaluations, static_cast<std::size_t>(std::max<std::int64_t>(0, room / largest))});
  std::set<std::int64_t> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.insert(steps[steps.size() - 1 - i * steps.size() / most]);
  std::vector<EventImage> found;
  for (const EventImage& image : images) {
    if (chosen.count(image.step) > 0) found.push_back(image);
  }
  return found;
}

std::string BytesOf(const InputFile& file, const EventImage& image) {
  std::string bytes(static_cast<std::size_t>(image.bytes), '\0');
  bytes.resize(file.Read(image.at, bytes.data(), bytes.size()));
  return bytes;
}

}  // namespace

ordered_json SheetsOf(const fs::path& run, const json& scored) {
  const ScoredSheets last(run);
  std::map<std::string, ordered_json> sheets;
  std::int64_t room = kMostOfPictures;
  for (const auto& [task, words] : last.words()) sheets[task]["words"] = words;
  std::map<std::string, ordered_json> behind;
  for (const auto& [task, png] : last.pictures()) {
    if (std::ssize(png) > room) {
      sheets[task]["left_out"] = "sheet-" + task + ".png";
      continue;
    }
    room -= std::ssize(png);
    behind[task] = PictureOf(scored, png);
  }
  const fs::path events = run / kTensorBoardLog;
  if (const std::vector<EventImage> chosen = Chosen(FindEventImages(events, kTag), room); !chosen.empty()) {
    const InputFile file(events);
    for (const EventImage& image : chosen)
      sheets[image.tag.substr(kTag.size())]["pictures"].push_back(
          PictureOf(image.step, BytesOf(file, image)));
  }
  for (const auto& [task, picture] : behind) sheets[task]["pictures"].push_back(picture);
  ordered_json list = ordered_json::array();
  for (const auto& [task, sheet] : sheets) list.emplace_back(ordered_json{{"task", task}}).update(sheet);
  return list;
}

}  // namespace medley
