#include <medley/page/page_sheets.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/input_file.h>
#include <medley/base/work_progress.h>
#include <medley/data/picture_file.h>
#include <medley/report/event_images.h>
#include <medley/report/tensorboard.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMostOfPictures = 3 << 19;  // bytes, before they are written as text
// What drawing them anew takes is counted too: a page is written in a second or two.
constexpr std::size_t kMostEarlier = 96;
constexpr std::size_t kMostOfWords = 4000;
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

// In 16 levels of each colour: what a model draws has noise in the lower bits, which no PNG makes shorter.
Picture Coarse(Picture picture) {
  constexpr int kLevels = 16, kStep = 255 / (kLevels - 1);
  for (std::uint8_t& value : picture.pixels)
    value = static_cast<std::uint8_t>((value + kStep / 2) / kStep * kStep);
  return picture;
}

// Every second pixel of every second line.
Picture Halved(const Picture& picture) {
  Picture half((picture.width + 1) / 2, (picture.height + 1) / 2);
  for (std::int64_t y = 0; y < half.height; ++y) {
    for (std::int64_t x = 0; x < half.width; ++x) {
      const auto from = picture.pixels.begin() + 3 * (2 * y * picture.width + 2 * x);
      std::copy_n(from, 3, half.pixels.begin() + 3 * (y * half.width + x));
    }
  }
  return half;
}

// Those of the files that medley eval writes.
class ScoredSheets {
 public:
  explicit ScoredSheets(const fs::path& run) {
    for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
      const std::string name = entry.path().stem().string(), type = entry.path().extension().string();
      if (!name.starts_with("sheet-")) continue;
      const std::string task = name.substr(6);
      if (type == ".png") pictures_.emplace(task, ReadPicture(entry.path()));
      if (type == ".txt") words_[task] = ReadFile(entry.path()).substr(0, kMostOfWords);
    }
  }
  const std::map<std::string, Picture>& pictures() const { return pictures_; }
  const std::map<std::string, std::string>& words() const { return words_; }

 private:
  std::map<std::string, Picture> pictures_;
  std::map<std::string, std::string> words_;
};

using Sheets = std::map<std::string, ordered_json>;  // by task

// The sheets as pictures of a page, each with the step of its weights in front, as far as there is room.
class Pictures {
 public:
  explicit Pictures(Sheets& sheets) : sheets_(sheets) {}
  // Whether it had room.
  bool Add(const std::string& task, const json& step, const Picture& picture) {
    const std::string png = EncodePng(Coarse(picture));
    if (std::ssize(png) > room_) return false;
    room_ -= std::ssize(png);
    sheets_[task]["pictures"].push_back({step, Base64(png)});
    return true;
  }
  std::int64_t room() const { return room_; }

 private:
  Sheets& sheets_;
  std::int64_t room_ = kMostOfPictures;
};

// Evaluations while the run was trained, by step.
using Evaluations = std::map<std::int64_t, std::vector<EventImage>>;

Evaluations EvaluationsIn(const fs::path& events) {
  Evaluations evaluations;
  for (EventImage& image : FindEventImages(events, kTag)) evaluations[image.step].push_back(std::move(image));
  return evaluations;
}

Picture PictureIn(const InputFile& file, const EventImage& image) {
  std::string bytes(static_cast<std::size_t>(image.bytes), '\0');
  bytes.resize(file.Read(image.at, bytes.data(), bytes.size()));
  return DecodePng(bytes, image.tag);
}

// The last one, and as many before it, evenly, as there is room and time for.
void AddEvaluations(const fs::path& events, Pictures& pictures) {
  const Evaluations evaluations = EvaluationsIn(events);
  if (evaluations.empty()) return;
  const InputFile file(events);
  const auto add = [&](const Evaluations::value_type& evaluation) {
    for (const EventImage& image : evaluation.second) {
      if (!pictures.Add(image.tag.substr(kTag.size()), image.step, Halved(PictureIn(file, image))))
        return false;
    }
    return true;
  };
  const std::int64_t room = pictures.room();
  const auto& last = *evaluations.rbegin();
  if (!add(last)) return;
  const std::int64_t bytes = std::max<std::int64_t>(1, room - pictures.room());
  const std::size_t others = evaluations.size() - 1;
  const std::size_t most = std::min(
      {others, kMostEarlier / last.second.size(), static_cast<std::size_t>(pictures.room() / bytes)});
  WorkProgress progress;
  for (std::size_t i = 0; i < most; ++i) {
    progress.Say("drawing earlier sheets", static_cast<double>(i), static_cast<double>(most));
    if (!add(*std::next(evaluations.begin(), static_cast<std::ptrdiff_t>(i * others / most)))) return;
  }
}

}  // namespace

ordered_json SheetsOf(const fs::path& run, const json& scored) {
  const ScoredSheets last(run);
  Sheets sheets;
  Pictures pictures(sheets);
  for (const auto& [task, words] : last.words()) sheets[task]["words"] = words;
  WorkProgress progress;
  double done = 0;
  for (const auto& [task, picture] : last.pictures()) {
    progress.Say("drawing the sheet of " + task, done++, static_cast<double>(last.pictures().size()));
    if (!pictures.Add(task, scored, picture)) sheets[task]["left_out"] = "sheet-" + task + ".png";
  }
  AddEvaluations(run / kTensorBoardLog, pictures);
  ordered_json list = ordered_json::array();
  for (const auto& [task, sheet] : sheets) list.emplace_back(ordered_json{{"task", task}}).update(sheet);
  return list;
}

}  // namespace medley
