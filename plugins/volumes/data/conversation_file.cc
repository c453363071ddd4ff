#include "data/conversation_file.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <medley/base/error.h>

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;
using medley::JsonItem;
using nlohmann::json;

std::vector<std::int64_t> ShapeOf(const JsonItem& item, std::size_t dimensions) {
  constexpr std::int64_t kMost = 1 << 20;
  const std::vector<std::int64_t> shape = item.Integers("shape", 1, kMost);
  if (shape.size() != dimensions)
    item.Fail("shape",
              "expected " + std::to_string(dimensions) + " numbers, found " + std::to_string(shape.size()));
  return shape;
}

void CheckSize(const fs::path& path, const std::vector<std::int64_t>& shape, const JsonItem& item) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) item.Fail("image", path.string() + " cannot be read: " + error.message());
  std::uintmax_t expected = sizeof(float);
  for (const std::int64_t size : shape) expected *= static_cast<std::uintmax_t>(size);
  if (bytes != expected)
    item.Fail("image", path.string() + " has " + std::to_string(bytes) + " bytes; its \"shape\" wants " +
                           std::to_string(expected) + ", four a voxel");
}

Scan ScanOf(const JsonItem& item, const fs::path& folder, const ScanForm& form) {
  const bool is_volume = item.Word("modality", {"volume", "series"}) == "volume";
  const Modality modality = is_volume ? Modality::kVolume : Modality::kSeries;
  const fs::path path = folder / item.Text("image");
  if (IsNifti(path)) {
    try {
      return NiftiScan(path, modality, form);
    } catch (const medley::InputError& error) {
      item.Fail("image", error.what());
    }
  }
  const std::vector<std::int64_t> shape = ShapeOf(item, is_volume ? 3 : 4);
  CheckSize(path, shape, item);
  return RawScan(path, shape, modality, form);
}

std::vector<JsonItem> SomeObjects(const JsonItem& item, std::string_view key) {
  std::vector<JsonItem> objects = item.Objects(key);
  if (objects.empty()) item.Fail(key, "expected a list that is not empty");
  return objects;
}

Turn TurnOf(const JsonItem& turn, const fs::path& folder, const ScanForm& form) {
  Turn read{turn.Word("role", {"user", "assistant"}) == "user" ? Role::kUser : Role::kAssistant, {}};
  for (const JsonItem& item : SomeObjects(turn, "content")) {
    if (item.Has("text") == item.Has("image")) item.Fail("expected either \"text\" or \"image\"");
    if (item.Has("text")) {
      read.items.emplace_back(item.Text("text"));
    } else {
      read.items.emplace_back(ScanOf(item, folder, form));
    }
  }
  return read;
}

void CheckTurns(const Conversation& conversation, const JsonItem& line) {
  if (conversation.turns.back().role != Role::kAssistant)
    line.Fail("turns",
              "it ends without an assistant's turn: nothing in it can be learned; put an answer behind it");
  const ScanCounts scans = CountScans(conversation);
  if (scans.volumes + scans.series > kMostScans)
    line.Fail("turns", std::to_string(scans.volumes + scans.series) + " scans; a conversation has at most " +
                           std::to_string(kMostScans));
}

Conversation ConversationOf(const JsonItem& line, const fs::path& folder, const ScanForm& form) {
  Conversation conversation;
  conversation.subject = line.Text("subject");
  for (const JsonItem& turn : SomeObjects(line, "turns"))
    conversation.turns.push_back(TurnOf(turn, folder, form));
  CheckTurns(conversation, line);
  if (line.Has("one_scan")) conversation.one_scan = line.Number("one_scan");
  return conversation;
}

void WriteScan(const fs::path& path, const at::Tensor& voxels) {
  const at::Tensor whole = voxels.contiguous();
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(whole.const_data_ptr()), static_cast<std::streamsize>(whole.nbytes()));
  if (!out.flush()) throw medley::InputError(path.string() + ": cannot be written");
}

}  // namespace

ConversationFile::ConversationFile(const fs::path& file, const ScanForm& form)
    : folder_(file.parent_path()), file_(file), form_(form) {
  std::map<std::string, std::size_t> index;
  for (std::int64_t item = 0; item < size(); ++item) {
    const Conversation conversation = Read(item);
    const auto [at, is_new] = index.emplace(conversation.subject, by_subject_.size());
    if (is_new) {
      by_subject_.emplace_back();
      subjects_.push_back(conversation.subject);
    }
    by_subject_[at->second].push_back(item);
    scans_.push_back(CountScans(conversation));
    ForEachScan(conversation, [&](const Scan& scan) {
      if (!scan.nifti.empty()) first_nifti_.emplace(scan.modality, scan.nifti);
    });
  }
  if (by_subject_.empty()) throw medley::InputError(file.string() + ": has no conversation");
}

Conversation ConversationFile::Read(std::int64_t item) const {
  Conversation conversation = ConversationOf(file_.Read(item), folder_, form_);
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
