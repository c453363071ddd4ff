#include <medley/plugin/plugin_list.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <system_error>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

#include "elf_file.h"
#include "plugin_scan.h"
#include "python_file.h"
#include "rejection.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// Judges files as a registry would, but never gives up: a registry ends at a name that stands twice.
class Lister {
 public:
  void Add(const SearchPath& where) {
    ScannedDirectory scanned = ScanPlugins(where);
    const auto first = static_cast<std::ptrdiff_t>(candidates_.size());
    ++directory_;
    for (const PluginFile& file : scanned.files) candidates_.push_back(Judge(file, where.expected));
    for (RejectedPlugin& file : scanned.rejected)
      candidates_.push_back(
          {std::move(file.path), std::move(file.state), std::move(file.reason), file.named, {}, {}});
    std::sort(candidates_.begin() + first, candidates_.end(),
              [](const PluginCandidate& a, const PluginCandidate& b) { return a.path < b.path; });
  }
  std::vector<PluginCandidate> Take() { return std::move(candidates_); }

 private:
  struct Place {
    fs::path path;
    int directory;
  };

  PluginCandidate Judge(const PluginFile& file, bool named) {
    PluginCandidate candidate{file.path, "ok", "", named, {}, {}};
    for (const TaskInfo& task : file.tasks) candidate.tasks.push_back(task.name);
    for (const ModelInfo& model : file.models) candidate.models.push_back(model.name);
    const auto [first, is_new] = files_.try_emplace({file.identity.device, file.identity.inode}, file.path);
    if (!is_new) {
      candidate.state = "same file";
      candidate.reason = "it is " + Printable(first->second.string()) + " again";
      return candidate;
    }
    EnterAll("task ", candidate.tasks, candidate);
    EnterAll("model ", candidate.models, candidate);
    const std::size_t names = candidate.tasks.size() + candidate.models.size();
    if (candidate.state == "ok" && taken_ == names) candidate.state = "shadowed";
    taken_ = 0;
    return candidate;
  }

  void EnterAll(const std::string& kind, const std::vector<std::string>& names, PluginCandidate& candidate) {
    for (const std::string& name : names) {
      const auto [place, is_new] = names_.try_emplace(kind + name, Place{candidate.path, directory_});
      if (is_new) continue;
      ++taken_;
      const std::string other = Printable(place->second.path.string());
      candidate.reason += candidate.reason.empty() ? "" : "; ";
      if (place->second.directory == directory_) {
        candidate.state = "name twice";
        candidate.reason += kind + name + " is also in " + other + ": remove one of them";
        MarkFirst(place->second.path, kind + name, candidate.path);
      } else {
        candidate.reason += kind + name + " comes from " + other;
      }
    }
  }

  // The first of two is no more usable than the second.
  void MarkFirst(const fs::path& path, const std::string& name, const fs::path& other) {
    for (PluginCandidate& first : candidates_) {
      if (first.path != path) continue;
      first.state = "name twice";
      first.reason += (first.reason.empty() ? "" : "; ") + name + " is also in " + Printable(other.string()) +
                      ": remove one of them";
    }
  }

  std::vector<PluginCandidate> candidates_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, fs::path> files_;
  std::map<std::string, Place, std::less<>> names_;  // "task zoom_gold"
  int directory_ = 0;
  std::size_t taken_ = 0;  // names of the file under judgement that others have
};

// Any medley of any torch reads it.
PluginAccount AccountOfPython(const fs::path& path) {
  PluginAccount account{ReadPythonFile(path), {}, "ok", ""};
  account.abi.kind = "python";
  const ScannedDirectory scanned = ScanPlugins({path, true});
  if (scanned.rejected.empty()) return account;
  account.state = scanned.rejected.front().state;
  account.reason = scanned.rejected.front().reason;
  return account;
}

}  // namespace

PluginList ListPlugins(const PluginSearch& search) {
  PluginList list;
  Lister lister;
  for (const SearchPath& where : SearchPaths(search)) {
    list.searched.push_back(where.path);
    lister.Add(where);
  }
  list.candidates = lister.Take();
  return list;
}

PluginAccount ReadPluginAccount(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) throw InputError(Printable(path.string()) + " cannot be read: " + error.message());
  try {
    if (IsPythonFile(real)) return AccountOfPython(real);
    ElfFile elf = ReadElfFile(real);
    PluginNote note = ReadPluginNote(elf.note);
    const ScannedDirectory scanned = ScanPlugins({real, true});
    PluginAccount account{{real, elf.identity, std::move(elf.build_id), std::move(elf.note),
                           std::move(note.tasks), std::move(note.models), /*is_python=*/false},
                          std::move(note.abi),
                          "ok",
                          ""};
    if (!scanned.rejected.empty()) {
      account.state = scanned.rejected.front().state;
      account.reason = scanned.rejected.front().reason;
    }
    return account;
  } catch (const Rejection& rejection) {
    throw InputError(Printable(real.string()) + " (" + rejection.state + "): " + rejection.reason);
  }
}

}  // namespace medley
