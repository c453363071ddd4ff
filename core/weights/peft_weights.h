#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <medley/model/adapters.h>
#include <medley/model/model.h>
#include <medley/weights/peft_config.h>
#include <medley/weights/safetensors_file.h>

namespace medley {

// The adapters in a folder of PEFT's, for those of a model.
class PeftWeights {
 public:
  // Reads headers. `root`: in front of the published names of the model's language. The parameters may be on
  // "meta". Throws one InputError with every tensor that is missing, unexpected or does not fit.
  PeftWeights(std::filesystem::path directory, std::string root, const Adapters& adapters,
              const std::vector<Parameter>& parameters);

  // Once the tables have their values: those of rows in the folder are whole, and what is kept is how far
  // they are from these.
  void Fill(const std::vector<Parameter>& parameters) const;
  std::string Words() const;

 private:
  using Problems = std::vector<std::string>;

  void Take(const Parameter& parameter, Problems& problems);
  void FillRows(const at::Tensor& changes, const at::Tensor& table, const std::string& source) const;

  std::filesystem::path directory_;
  std::string root_;
  Adapters adapters_;
  PeftConfig config_;
  SafetensorsFile file_;
  std::map<std::string, std::string> sources_;  // names in the file, by parameter
};

// What PEFT calls a parameter of an adapter.
std::string PeftName(const std::string& parameter, const std::string& root);

// Writes adapters as such a folder, in float. `base`: where PEFT finds the model that they belong to; "": not
// said. `filled`: tokens whose rows are not trained, and yet other ones than there. `directory` is there and
// has neither file.
void WritePeft(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
               const Adapters& adapters, const std::string& root, const std::string& base,
               const std::vector<std::int64_t>& filled = {});

}  // namespace medley
