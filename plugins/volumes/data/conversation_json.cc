#include "data/conversation_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/data/conversation_json.h>

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;
using medley::JsonItem;
using nlohmann::json;

using medley::NamedFile;

std::vector<std::int64_t> ShapeOf(const JsonItem& item, std::size_t dimensions) {
  constexpr std::int64_t kMost = 1 << 20;
  const std::vector<std::int64_t> shape = item.Integers("shape", 1, kMost);
  if (shape.size() != dimensions)
    item.Fail("shape",
              "expected " + std::to_string(dimensions) + " numbers, found " + std::to_string(shape.size()));
  return shape;
}

void CheckSize(const fs::path& path, const std::vector<std::int64_t>& shape, const JsonItem& item,
               const std::string& key) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) item.Fail(key, path.string() + " cannot be read: " + error.message());
  std::uintmax_t expected = sizeof(float);
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(expected, size, &expected))
      item.Fail("shape", "more voxels than a file can have");
  }
  if (bytes != expected)
    item.Fail(key, path.string() + " has " + std::to_string(bytes) + " bytes; its \"shape\" wants " +
                       std::to_string(expected) + ", four a voxel");
}

// Of a raw file that nobody says more of; the model's volume or series, by its bytes.
Modality ModalityBySize(const fs::path& path, const Geometry& geometry, const JsonItem& item,
                        const std::string& key) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) item.Fail(key, path.string() + " cannot be read: " + error.message());
  for (const Modality modality : {Modality::kVolume, Modality::kSeries}) {
    if (bytes == static_cast<std::uintmax_t>(geometry.Bytes(modality))) return modality;
  }
  item.Fail(key, path.string() + " has " + std::to_string(bytes) + " bytes; a volume of the model's has " +
                     std::to_string(geometry.Bytes(Modality::kVolume)) + ", a series " +
                     std::to_string(geometry.Bytes(Modality::kSeries)) +
                     ", four a voxel. Say \"shape\" and \"modality\", or give the file these sizes");
}

// By the name, as a scan is.
bool IsPicture(const fs::path& path) {
  std::string type = path.extension().string();
  std::ranges::transform(type, type.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return type == ".png" || type == ".jpg" || type == ".jpeg";
}

Modality ModalityOf(const JsonItem& item) {
  const std::string word = item.Word("modality", {"volume", "series", "sMRI", "dMRI", "fMRI"});
  return word == "series" || word == "fMRI" ? Modality::kSeries : Modality::kVolume;
}

Scan ScanOf(const NamedFile& named, const fs::path& folder, const ScanForm& form) {
  const JsonItem& item = named.item;
  const fs::path path = folder / named.path;
  const auto taken = [&](const auto& take) {
    try {
      return take();
    } catch (const medley::InputError& error) {
      item.Fail(named.key, error.what());
    }
  };
  if (IsPicture(path))
    item.Fail(named.key,
              named.path + " is a picture; volumes takes scans: .nii, .nii.gz, or float32 with a \"shape\"");
  if (!IsNifti(path) && form.shape_by_size && !item.Has("shape")) {
    const Modality modality = ModalityBySize(path, *form.geometry, item, named.key);
    return taken([&] { return RawScan(path, form.geometry->Shape(modality), modality, form); });
  }
  if (!IsNifti(path)) {
    const Modality modality = ModalityOf(item);
    const std::vector<std::int64_t> shape = ShapeOf(item, modality == Modality::kVolume ? 3 : 4);
    CheckSize(path, shape, item, named.key);
    return taken([&] { return RawScan(path, shape, modality, form); });
  }
  const bool is_said = item.Has("modality");
  const Modality said = is_said ? ModalityOf(item) : Modality::kVolume;
  return taken([&] { return NiftiScan(path, is_said ? said : NiftiModality(path, form), form); });
}

// Makes one conversation of what was read of the line.
class ScanConversation {
 public:
  ScanConversation(const JsonItem& line, const fs::path& folder, const ReadingForm& form)
      : line_(line),
        folder_(folder),
        form_(form),
        turns_key_(medley::ConversationReader::KeyOf(line, {"turns", "conversations", "messages"})),
        reader_(line, {turns_key_}) {}

  Conversation Take() {
    for (const medley::SpokenTurn& turn : reader_.Turns(turns_key_)) AddTurn(turn);
    PutTheRestInFront();
    if (!wrong_.empty()) throw WrongScans(std::move(wrong_));
    if (!before_user_.empty()) line_.Fail(turns_key_, "no user's turn stands behind a system's");
    const bool is_answered = !read_.turns.empty() && read_.turns.back().role == Role::kAssistant;
    if (form_.are_questions && is_answered) read_.turns.pop_back();
    if (!form_.are_questions && !is_answered)
      line_.Fail(
          turns_key_,
          "it ends without an assistant's turn: nothing in it can be learned; put an answer behind it");
    if (!form_.are_questions) FindAnswer(read_.turns.back());
    const ScanCounts scans = CountScans(read_);
    if (scans.volumes + scans.series > kMostScans)
      line_.Fail(turns_key_, std::to_string(scans.volumes + scans.series) +
                                 " scans; a conversation has at most " + std::to_string(kMostScans));
    read_.subjects = Subjects();
    for (const std::string& subject : read_.subjects)
      read_.subject += (read_.subject.empty() ? "" : " ") + subject;
    if (line_.Has("one_scan")) read_.one_scan = line_.Number("one_scan");
    return std::move(read_);
  }

 private:
  void AddTurn(const medley::SpokenTurn& turn) {
    const bool is_user = turn.role == "user";
    std::vector<Content> items;
    if (is_user) items.swap(before_user_);
    for (const medley::SpokenItem& item : turn.items) {
      const auto* file = std::get_if<NamedFile>(&item);
      if (file == nullptr)
        items.emplace_back(std::get<std::string>(item));
      else
        AddScan(*file, items);
    }
    const auto is_scan = [](const Content& item) { return std::holds_alternative<Scan>(item); };
    if (turn.role == "assistant" && std::ranges::any_of(items, is_scan))
      turn.item.Fail(turn.content, kAssistantsScan);
    if (turn.role == "system")
      before_user_ = std::move(items);
    else
      read_.turns.push_back({is_user ? Role::kUser : Role::kAssistant, std::move(items)});
  }

  // Where one is wrong the others are looked at all the same.
  void AddScan(const NamedFile& named, std::vector<Content>& items) {
    paths_.push_back(named.path);
    try {
      items.emplace_back(ScanOf(named, folder_, form_.scans));
    } catch (const medley::InputError& error) {
      wrong_.push_back({folder_ / named.path, error.what()});
    }
  }

  void PutTheRestInFront() {
    const std::vector<NamedFile> rest = reader_.Rest(turns_key_);
    if (rest.empty()) return;
    const auto user = std::ranges::find(read_.turns, Role::kUser, &Turn::role);
    if (user == read_.turns.end()) line_.Fail(turns_key_, "no user's turn that shows its scans");
    std::vector<Content> items;
    for (const NamedFile& named : rest) AddScan(named, items);
    user->items.insert(user->items.begin(), items.begin(), items.end());
  }

  // Of files that were made to test others the last text is empty.
  void FindAnswer(Turn& last) const {
    if (!last.items.empty()) return;
    if (form_.answer.empty())
      line_.Fail(turns_key_,
                 "the last answer is empty; name where it stands by the option answer, as "
                 "metadata.subject_label");
    const json* value = &line_.json();
    std::string_view rest = form_.answer;
    while (value != nullptr && !rest.empty()) {
      const std::string_view key = rest.substr(0, rest.find('.'));
      const auto found = value->is_object() ? value->find(key) : value->end();
      value = value->is_object() && found != value->end() ? &*found : nullptr;
      rest.remove_prefix(std::min(rest.size(), key.size() + 1));
    }
    if (value == nullptr || value->is_structured() || value->is_null() || *value == "")
      line_.Fail("the last answer is empty, and no text or number stands in " + form_.answer +
                 ", where the option answer says");
    last.items.emplace_back(value->is_string() ? value->get<std::string>() : value->dump());
  }

  // What is asked about one subject is held out together.
  std::vector<std::string> Subjects() const {
    for (const char* key : {"subject", "subject_id"}) {
      if (line_.Has(key)) return {line_.Text(key)};
    }
    std::vector<std::string> subjects;
    if (line_.Has("subject_ids")) subjects = line_.Texts("subject_ids");
    const bool has_metadata = line_.Has("metadata") && line_.json().at("metadata").is_object();
    if (subjects.empty() && has_metadata && line_.Object("metadata").Has("subject_id"))
      subjects.push_back(line_.Object("metadata").Text("subject_id"));
    std::erase(subjects, "");
    if (!subjects.empty()) return subjects;
    if (!paths_.empty()) return paths_;
    const json& itself = line_.Has("id") ? line_.json().at("id") : line_.json();
    return {itself.is_string() ? itself.get<std::string>() : itself.dump()};
  }

  const JsonItem& line_;
  const fs::path& folder_;
  const ReadingForm& form_;
  std::string turns_key_;
  medley::ConversationReader reader_;
  std::vector<Content> before_user_;  // what the system said
  std::vector<std::string> paths_;    // of its scans
  std::vector<WrongScans::One> wrong_;
  Conversation read_;
};

std::string WordsOf(const std::vector<WrongScans::One>& wrong) {
  constexpr std::size_t kMostShown = 10;
  if (wrong.size() == 1) return wrong.front().words;
  std::string words = std::to_string(wrong.size()) + " scans cannot be taken";
  for (std::size_t i = 0; i < std::min(kMostShown, wrong.size()); ++i) words += "\n  " + wrong[i].words;
  if (wrong.size() > kMostShown) words += "\n  and " + std::to_string(wrong.size() - kMostShown) + " more";
  return words;
}

}  // namespace

WrongScans::WrongScans(std::vector<One> all) : InputError(WordsOf(all)), all_(std::move(all)) {}
WrongScans::~WrongScans() = default;

Conversation ConversationOf(const JsonItem& line, const fs::path& folder, const ReadingForm& form) {
  return ScanConversation(line, folder, form).Take();
}

}  // namespace medley_volumes
