#include "data/conversation_file.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/error.h>
#include <medley/data/tensor_file.h>

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Where in a line something is wrong. Which line it is costs a look at those before it.
class Place {
 public:
  Place(const medley::JsonlFile& file, std::int64_t item) : file_(&file), item_(item) {}

  Place In(const std::string& name) const { return With(path_.empty() ? name : path_ + "." + name); }
  Place At(std::size_t index) const { return With(path_ + "[" + std::to_string(index) + "]"); }
  [[noreturn]] void Fail(const std::string& what) const {
    throw medley::InputError(file_->PlaceOf(item_) + ": " + (path_.empty() ? "" : path_ + ": ") + what);
  }

 private:
  Place With(std::string path) const {
    Place place = *this;
    place.path_ = std::move(path);
    return place;
  }

  const medley::JsonlFile* file_;
  std::int64_t item_;
  std::string path_;
};

const json& Member(const json& object, const std::string& name, const Place& place) {
  if (!object.is_object()) place.Fail("expected an object");
  const auto found = object.find(name);
  if (found == object.end()) place.Fail("\"" + name + "\" is missing");
  return *found;
}

std::string TextOf(const json& object, const std::string& name, const Place& place) {
  const json& value = Member(object, name, place);
  if (!value.is_string()) place.In(name).Fail("expected a text");
  return value.get<std::string>();
}

const json& ListOf(const json& object, const std::string& name, const Place& place) {
  const json& value = Member(object, name, place);
  if (!value.is_array() || value.empty()) place.In(name).Fail("expected a list that is not empty");
  return value;
}

std::vector<std::int64_t> ShapeOf(const json& item, std::size_t dimensions, const Place& place) {
  const json& list = ListOf(item, "shape", place);
  std::vector<std::int64_t> shape;
  for (const json& size : list) {
    constexpr std::int64_t kMost = 1 << 20;
    if (!size.is_number_integer() || size.get<std::int64_t>() < 1 || size.get<std::int64_t>() > kMost)
      place.In("shape").Fail("expected whole numbers from 1 on");
    shape.push_back(size.get<std::int64_t>());
  }
  if (shape.size() != dimensions)
    place.In("shape").Fail("expected " + std::to_string(dimensions) + " numbers, got " +
                           std::to_string(shape.size()));
  return shape;
}

void CheckSize(const fs::path& path, const std::vector<std::int64_t>& shape, const Place& place) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) place.Fail(path.string() + " cannot be read: " + error.message());
  std::uintmax_t expected = sizeof(float);
  for (const std::int64_t size : shape) expected *= static_cast<std::uintmax_t>(size);
  if (bytes != expected)
    place.Fail(path.string() + " has " + std::to_string(bytes) + " bytes; its \"shape\" wants " +
               std::to_string(expected) + ", four a voxel");
}

Scan ScanOf(const json& item, const fs::path& folder, const Place& place) {
  const std::string modality = TextOf(item, "modality", place);
  if (modality != "volume" && modality != "series")
    place.In("modality").Fail("expected \"volume\" or \"series\", got \"" + modality + "\"");
  const bool is_volume = modality == "volume";
  const fs::path path = folder / TextOf(item, "image", place);
  const std::vector<std::int64_t> shape = ShapeOf(item, is_volume ? 3 : 4, place);
  CheckSize(path, shape, place.In("image"));
  return {is_volume ? Modality::kVolume : Modality::kSeries,
          [path, shape] { return medley::MapTensor(path, shape, at::kFloat); }};
}

Turn TurnOf(const json& turn, const fs::path& folder, const Place& place) {
  const std::string role = TextOf(turn, "role", place);
  if (role != "user" && role != "assistant")
    place.In("role").Fail("expected \"user\" or \"assistant\", got \"" + role + "\"");
  Turn read{role == "user" ? Role::kUser : Role::kAssistant, {}};
  const json& content = ListOf(turn, "content", place);
  for (std::size_t i = 0; i < content.size(); ++i) {
    const Place at = place.In("content").At(i);
    if (!content[i].is_object()) at.Fail("expected an object");
    const bool is_text = content[i].contains("text");
    if (is_text == content[i].contains("image")) at.Fail("expected either \"text\" or \"image\"");
    if (is_text) {
      read.items.emplace_back(TextOf(content[i], "text", at));
    } else {
      read.items.emplace_back(ScanOf(content[i], folder, at));
    }
  }
  return read;
}

void CheckTurns(const Conversation& conversation, const Place& place) {
  if (conversation.turns.back().role != Role::kAssistant)
    place.Fail("it ends without an assistant's turn: nothing in it can be learned; put an answer behind it");
  const ScanCounts scans = CountScans(conversation);
  if (scans.volumes + scans.series > kMostScans)
    place.Fail(std::to_string(scans.volumes + scans.series) + " scans; a conversation has at most " +
               std::to_string(kMostScans));
}

Conversation ConversationOf(const json& line, const fs::path& folder, const Place& place) {
  Conversation conversation;
  conversation.subject = TextOf(line, "subject", place);
  const json& turns = ListOf(line, "turns", place);
  for (std::size_t i = 0; i < turns.size(); ++i)
    conversation.turns.push_back(TurnOf(turns[i], folder, place.In("turns").At(i)));
  CheckTurns(conversation, place.In("turns"));
  if (line.contains("one_scan")) {
    if (!line["one_scan"].is_number()) place.In("one_scan").Fail("expected a number");
    conversation.one_scan = line["one_scan"].get<double>();
  }
  return conversation;
}

void WriteScan(const fs::path& path, const at::Tensor& voxels) {
  const at::Tensor whole = voxels.contiguous();
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(whole.const_data_ptr()), static_cast<std::streamsize>(whole.nbytes()));
  if (!out.flush()) throw medley::InputError(path.string() + ": cannot be written");
}

}  // namespace

ConversationFile::ConversationFile(const fs::path& file) : folder_(file.parent_path()), file_(file) {
  std::map<std::string, std::size_t> index;
  for (std::int64_t item = 0; item < size(); ++item) {
    const Conversation conversation = Read(item);
    const auto [at, is_new] = index.emplace(conversation.subject, by_subject_.size());
    if (is_new) by_subject_.emplace_back();
    by_subject_[at->second].push_back(item);
    scans_.push_back(CountScans(conversation));
  }
  if (by_subject_.empty()) throw medley::InputError(file.string() + ": has no conversation");
}

Conversation ConversationFile::Read(std::int64_t item) const {
  Conversation conversation = ConversationOf(file_.Read(item), folder_, Place(file_, item));
  conversation.where = [this, item] { return file_.PlaceOf(item); };
  return conversation;
}

fs::path WriteConversations(const fs::path& folder, const std::string& name,
                            const std::vector<Conversation>& conversations) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = folder / (name + ".jsonl");
  std::ofstream out(path);
  for (std::size_t row = 0; row < conversations.size(); ++row) {
    const Conversation& conversation = conversations[row];
    json line = {{"subject", conversation.subject}, {"turns", json::array()}};
    if (std::isfinite(conversation.one_scan)) line["one_scan"] = conversation.one_scan;
    int scans = 0;
    for (const Turn& turn : conversation.turns) {
      json content = json::array();
      for (const Content& item : turn.items) {
        if (const auto* text = std::get_if<std::string>(&item)) {
          content.push_back({{"text", *text}});
          continue;
        }
        const Scan& scan = std::get<Scan>(item);
        const at::Tensor voxels = scan.voxels();
        const std::string file = name + "-" + std::to_string(row) + "-" + std::to_string(++scans) + ".raw";
        WriteScan(folder / file, voxels);
        content.push_back(
            {{"image", file}, {"modality", NameOf(scan.modality)}, {"shape", voxels.sizes().vec()}});
      }
      line["turns"].push_back(
          {{"role", turn.role == Role::kUser ? "user" : "assistant"}, {"content", content}});
    }
    out << line.dump() << '\n';
  }
  if (!out.flush()) throw medley::InputError(path.string() + ": cannot be written");
  return path;
}

}  // namespace medley_volumes
