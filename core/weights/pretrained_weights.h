#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <medley/model/model.h>
#include <medley/weights/pretrained_files.h>

namespace medley {

// The weights of a Hugging Face folder: those of a Language in one file or in shards, and beside them what
// medley wrote of the model's other parts (kImageWeightsFile); and those of a vision tower in the same folder
// or in another one. They are mapped, and converted while they are copied.
class PretrainedWeights {
 public:
  struct Setting {
    std::filesystem::path directory{};         // of the language; "": none gives it
    std::string root{};                        // of the spec's pretrained group
    std::int64_t rows = 0;                     // of the folder's tables; the model's may have more
    std::vector<std::string> allow_missing{};  // patterns of parameters that may be missing
    // Patterns of the folder's tensors (by their names there, or with "model." in front) that the model has
    // no parameter for, and that are left aside.
    std::vector<std::string> allow_unexpected{};
    struct Tower {
      std::filesystem::path directory{};  // "": none gives it
      std::string root{}, projector{};    // of the spec's tower
      bool projects = false;              // whether the projector must be there
      bool layers_only = false;           // what is in front of them is left aside too
    } tower{};
  };
  // Reads headers, and of an output table that the model ties to the embedding the values. The parameters may
  // be on "meta". Throws one InputError with every tensor that is missing, unexpected or does not fit.
  PretrainedWeights(Setting setting, const std::vector<Parameter>& parameters);
  PretrainedWeights(PretrainedWeights&&) = default;
  PretrainedWeights& operator=(PretrainedWeights&&) = default;
  PretrainedWeights(const PretrainedWeights&) = delete;

  // Parameters that Fill gives all their values.
  const std::set<std::string>& given() const { return given_; }

  // Ids below `count` are tokens. The folder does not know those in `added`, nor those behind its rows.
  struct Tokens {
    std::int64_t count = 0;
    std::vector<std::int64_t> added{};
  };
  // Gives each parameter memory of its own, in its type. Rows of tokens that the folder does not know begin
  // as the mean of those that it knows.
  using TypeOf = std::function<at::ScalarType(const Parameter&)>;
  void Fill(
      const std::vector<Parameter>& parameters, const Tokens& tokens,
      const TypeOf& type = [](const Parameter&) { return at::kFloat; }) const;
  // What was taken from where, what begins anew, and what was left aside.
  std::string Words() const;

 private:
  using Problems = std::vector<std::string>;
  // Where a parameter's values are: in a folder, or in none.
  struct Source {
    const PretrainedFiles* files = nullptr;
    std::string name{};
    bool operator<(const Source& other) const {
      return std::tie(files, name) < std::tie(other.files, other.name);
    }
  };

  Source SourceOf(const std::string& parameter) const;
  void Take(const std::vector<Parameter>& parameters, Problems& problems);
  void Compare(const Parameter& parameter, const Source& source, Problems& problems);
  void CheckRest(Problems& problems);
  // Whether a tensor of a folder belongs to a part of the published model that this one does not have.
  bool IsOfOtherPart(const PretrainedFiles& files, const std::string& name) const;
  std::string HeadProblem() const;
  std::string FolderWords() const;
  // "; in FOLDER" of a tower's own, where there is another one, which all problems stand under.
  std::string Where(const PretrainedFiles& files) const;
  void FillNewRows(const at::Tensor& table, const Tokens& tokens) const;

  Setting setting_;
  std::list<PretrainedFiles> folders_;
  const PretrainedFiles *files_ = nullptr, *tower_files_ = nullptr;  // null: none
  std::int64_t tower_layers_ = 0;                                    // that the model has
  std::map<std::string, Source> sources_;                            // by parameter
  std::set<Source> used_;
  std::set<std::string> given_, fresh_, aside_;
};

}  // namespace medley
