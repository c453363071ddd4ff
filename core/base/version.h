#pragma once

#include <filesystem>
#include <string_view>

namespace medley {

// What this medley was built from, known without opening libtorch.
struct TorchBuild {
  std::string_view version;  // "2.11.0"
  std::string_view build;    // with what it was built for: "2.11.0+cu130"
  std::string_view root;     // the directory with its include/
  std::string_view source;   // "wheel", "distribution" or "archive"
  int abi = 1;               // _GLIBCXX_USE_CXX11_ABI
  std::string_view blas;     // "mkl", "open", ...; "unknown" where it did not say
  bool cuda = false;         // whether CUDA is built in; a device is another question
};

std::string_view Version();      // of medley: "0.2.0"
std::string_view GitRevision();  // of the sources, with "+" where they were edited; "unknown" outside git
std::string_view Compiler();     // "GNU 12.2.0"
std::string_view BuildType();    // CMake's: "Release"
const TorchBuild& Torch();

std::filesystem::path TorchRoot();
std::filesystem::path TorchLibraryDirectory();  // with libtorch_cpu.so
// The directory that libmedley_base.so was loaded from; beside it, in medley/, are the verbs and the plugins.
std::filesystem::path LibraryDirectory();
// The configs that medley brings along, and what `medley new` makes folders of.
std::filesystem::path ConfigDirectory();
std::filesystem::path TemplateDirectory();

}  // namespace medley
