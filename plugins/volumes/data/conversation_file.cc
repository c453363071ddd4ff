#include "data/conversation_file.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool IsList(const fs::path& file) { return file.extension() == ".json"; }

medley::JsonlFile Opened(const fs::path& file) {
  return IsList(file) ? medley::JsonlFile::OfElements(file) : medley::JsonlFile(file);
}

// A link to a folder that holds it.
bool IsLoop(const fs::directory_entry& entry) {
  std::error_code unknown;
  if (!entry.is_symlink(unknown)) return false;
  const fs::path to = fs::canonical(entry.path(), unknown),
                 here = fs::canonical(entry.path().parent_path(), unknown);
  return std::ranges::mismatch(to, here).in1 == to.end();
}

// The .json files of a folder, and of the folders in it where `depth` is above 0.
void FindLists(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code unknown;
    if (entries->is_directory(unknown)) {
      if (depth > 0 && !IsLoop(*entries)) FindLists(entries->path(), depth - 1, found);
    } else if (IsList(entries->path())) {
      found.push_back(entries->path());
    }
  }
  if (error) throw medley::InputError(medley::DisplayPath(folder) + ": " + error.message());
}

std::vector<fs::path> FilesAt(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) return {path};
  std::vector<fs::path> files;
  FindLists(path, 1, files);
  std::ranges::sort(files);
  return files;
}

void WriteScan(const fs::path& path, const at::Tensor& voxels) {
  const at::Tensor whole = voxels.contiguous();
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(whole.const_data_ptr()), static_cast<std::streamsize>(whole.nbytes()));
  if (!out.flush()) throw medley::InputError(path.string() + ": cannot be written");
}

// Scans that cannot be taken, each file by the first conversation that names it.
class WrongFiles {
 public:
  template <typename Read>
  void Collect(const Read& read) {
    try {
      read();
    } catch (const WrongScans& wrong) {
      for (const WrongScans::One& one : wrong.all()) {
        if (files_.insert(one.file).second) all_.push_back(one);
      }
    }
  }
  void Throw() {
    if (!all_.empty()) throw WrongScans(std::move(all_));
  }

 private:
  std::set<fs::path> files_;
  std::vector<WrongScans::One> all_;
};

}  // namespace

ConversationFile::ConversationFile(const fs::path& path, ReadingForm form)
    : form_(std::move(form)), paths_(FilesAt(path)) {
  form_.scans.headers = headers_.get();
  WrongFiles wrong;
  for (std::size_t file = 0; file < paths_.size(); ++file) {
    const medley::JsonlFile opened = Opened(paths_[file]);
    for (std::int64_t record = 0; record < opened.size(); ++record) {
      places_.push_back({file, record});
      wrong.Collect([&] { Add(ConversationOf(opened.Read(record), paths_[file].parent_path(), form_)); });
    }
    hashes_.insert(hashes_.end(), opened.hashes().begin(), opened.hashes().end());
    if (paths_.size() == 1) only_ = opened;
  }
  wrong.Throw();
  for (SubjectGroups::Group& group : groups_.All()) {
    subjects_.push_back(std::move(group.name));
    by_subject_.push_back(std::move(group.conversations));
  }
  groups_ = {};
  if (places_.empty())
    throw medley::InputError(medley::DisplayPath(path) + ": has no conversation" +
                             (paths_.empty() ? ": it is a folder without .json files" : ""));
}

void ConversationFile::Add(const Conversation& conversation) {
  groups_.Add(conversation.subjects);
  subject_of_.push_back(conversation.subject);
  scans_.push_back(CountScans(conversation));
  last_words_.push_back(LastWordsOf(conversation));
  ForEachScan(conversation, [&](const Scan& scan) {
    if (!scan.nifti.empty()) first_nifti_.emplace(scan.modality, scan.nifti);
    if (!scan.name.empty() && form_.scans.geometry && names_.insert(scan.name).second)
      named_bytes_ += form_.scans.geometry->Bytes(scan.modality);
  });
}

Conversation ConversationFile::Read(std::int64_t item) const {
  const Place& place = places_[static_cast<std::size_t>(item)];
  const fs::path& path = paths_[place.file];
  const medley::JsonlFile file = only_ ? *only_ : Opened(path);
  if (place.record >= file.size())
    throw medley::InputError(medley::DisplayPath(path) +
                             ": has fewer conversations than when it was read first");
  Conversation conversation = ConversationOf(file.Read(place.record), path.parent_path(), form_);
  conversation.where = [file, record = place.record] { return file.PlaceOf(record); };
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
