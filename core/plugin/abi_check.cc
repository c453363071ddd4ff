#include "abi_check.h"

#include <medley/base/version.h>
#include <medley/task/abi.h>

#include "rejection.h"

namespace medley {
namespace {

// "2.11.0+cu130" and "2.11.0+cpu" have one ABI, and plugins know their headers' version, which has no suffix.
std::string Release(std::string_view version) { return std::string(version.substr(0, version.find('+'))); }

std::string Text(const std::string& value) { return Printable(value); }
std::string Text(int value) { return std::to_string(value); }
std::string Text(bool value) { return value ? "on" : "off"; }

class Comparison {
 public:
  template <typename T>
  void Add(const std::string& what, const T& plugin, const T& host, bool by_compiler = false) {
    if (plugin == host) return;
    by_compiler_ = by_compiler_ || by_compiler;
    plugin_ += (plugin_.empty() ? "" : ", ") + what + Text(plugin);
    host_ += (host_.empty() ? "" : ", ") + what + Text(host);
  }
  // What the compiler decides comes out the same however often it is asked.
  std::string Sentence(const std::string& plugin_compiler, const std::string& host_compiler) const {
    if (plugin_.empty()) return "";
    const std::string words = "was built for " + plugin_ + "; this medley uses " + host_;
    if (!by_compiler_ || plugin_compiler == host_compiler)
      return words + ". Rebuild the plugin with this medley: cmake --build BUILD_DIRECTORY --clean-first";
    return words + ". Its compiler (" + Text(plugin_compiler) + ") makes another ABI than this medley's (" +
           host_compiler + "): build the plugin anew with that one, in a new build directory: cmake -B " +
           "BUILD_DIRECTORY -DCMAKE_CXX_COMPILER=g++";
  }

 private:
  std::string plugin_;
  std::string host_;
  bool by_compiler_ = false;
};

}  // namespace

AbiInfo HostAbi() {
  AbiInfo abi;
  abi.kind = "c++";
  abi.api = kPluginApi;
  abi.torch = Release(Torch().version);
  abi.cxx11 = detail::kCxx11Abi;
  abi.gxx_abi = __GXX_ABI_VERSION;
  abi.pointer = sizeof(void*);
  abi.glibcxx_debug = detail::kDebugContainers;
  abi.sanitizer = detail::kSanitizer;
  abi.compiler = __VERSION__;
  return abi;
}

std::string AbiDifferences(const AbiInfo& plugin, const AbiInfo& host) {
  Comparison comparison;
  comparison.Add("plugin kind ", plugin.kind, host.kind);
  comparison.Add("plugin API ", plugin.api, host.api);
  comparison.Add("libtorch ", Release(plugin.torch), host.torch);
  comparison.Add("_GLIBCXX_USE_CXX11_ABI ", plugin.cxx11, host.cxx11, /*by_compiler=*/true);
  comparison.Add("C++ ABI version ", plugin.gxx_abi, host.gxx_abi, /*by_compiler=*/true);
  comparison.Add("pointers of bytes ", plugin.pointer, host.pointer);
  comparison.Add("_GLIBCXX_DEBUG ", plugin.glibcxx_debug, host.glibcxx_debug);
  comparison.Add("sanitizer ", plugin.sanitizer, host.sanitizer);
  return comparison.Sentence(plugin.compiler, host.compiler);
}

}  // namespace medley
