#include "elf_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <medley/base/descriptor.h>
#include <medley/task/abi.h>

#include "rejection.h"

namespace medley {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMaxHeaders = 256;
constexpr std::size_t kMaxSegmentBytes = 2 * kMaxNoteBytes;  // of notes, or of the dynamic section
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxNeeded = 512, kMaxRunPathBytes = 4096;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr const char* kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr const char* kMachineName = "AArch64";
#else
#error "name this machine's ELF number here"
#endif

[[noreturn]] void NotAPlugin(const std::string& reason) { throw Rejection{"not a plugin", reason}; }
[[noreturn]] void Truncated() {
  throw Rejection{"truncated", "the file ends before what its headers promise; copy or build it again"};
}

class File {
 public:
  // Not blocking, so that a FIFO cannot hang us; the path is real already, so a link means a race.
  explicit File(const std::filesystem::path& path) : file_(path, O_RDONLY | kPlainOnly) {
    if (!file_.ok()) throw Rejection{"unreadable", std::strerror(errno)};
  }

  FileIdentity Identify() {
    struct stat info {};
    if (fstat(file_.get(), &info) != 0) throw Rejection{"unreadable", std::strerror(errno)};
    if (!S_ISREG(info.st_mode)) NotAPlugin("not a regular file");
    size_ = static_cast<std::uint64_t>(info.st_size);
    if (size_ == 0) NotAPlugin("the file is empty");
    if (size_ > kMaxFileBytes) NotAPlugin("larger than 1 GiB");
    return {info.st_dev, info.st_ino, size_, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec,
            info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
  }

  bool Contains(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }

  // At most `bytes`; less where the file ends.
  std::string ReadSome(std::uint64_t offset, std::size_t bytes) const {
    if (offset >= size_) return {};
    std::string data(std::min<std::uint64_t>(bytes, size_ - offset), '\0');
    std::size_t done = 0;
    while (done < data.size()) {
      const ssize_t got =
          pread(file_.get(), data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    data.resize(done);
    return data;
  }

  std::string Read(std::uint64_t offset, std::uint64_t bytes) const {
    if (!Contains(offset, bytes)) Truncated();
    std::string data = ReadSome(offset, bytes);
    if (data.size() != bytes) Truncated();
    return data;
  }

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
};

template <typename T>
T Load(std::string_view data, std::size_t offset) {  // the caller has checked the range
  T value;
  std::memcpy(&value, data.data() + offset, sizeof value);
  return value;
}

Elf64_Ehdr ReadHeader(const File& file) {
  const std::string data = file.ReadSome(0, sizeof(Elf64_Ehdr));
  if (data.size() < SELFMAG || std::memcmp(data.data(), ELFMAG, SELFMAG) != 0) {
    NotAPlugin("not a shared library (no ELF header)");
  }
  if (data.size() < sizeof(Elf64_Ehdr)) Truncated();
  const auto header = Load<Elf64_Ehdr>(data, 0);
  constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != kByteOrder ||
      header.e_machine != kMachine) {
    throw Rejection{"other machine", std::string("built for another machine, this one is ") + kMachineName +
                                         "; build it here"};
  }
  if (header.e_type != ET_DYN) NotAPlugin("not a shared library but another kind of ELF file");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kMaxHeaders) {
    NotAPlugin("its program headers make no sense");
  }
  return header;
}

std::vector<Elf64_Phdr> ReadProgramHeaders(const File& file) {
  const Elf64_Ehdr header = ReadHeader(file);
  const std::string data = file.Read(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  std::vector<Elf64_Phdr> headers;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    headers.push_back(Load<Elf64_Phdr>(data, i * sizeof(Elf64_Phdr)));
    // The loader maps these and touches them: beyond the end of the file that is a SIGBUS.
    const Elf64_Phdr& segment = headers.back();
    if (segment.p_type == PT_LOAD && !file.Contains(segment.p_offset, segment.p_filesz)) Truncated();
  }
  return headers;
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

void TakeNote(std::string_view owner, std::uint32_t type, std::string_view content,
              std::optional<std::string>& ours, ElfFile& elf) {
  if (owner == std::string_view("GNU\0", 4) && type == NT_GNU_BUILD_ID && content.size() <= 64) {
    elf.build_id = Hex(content);
  }
  if (owner.substr(0, kNoteOwner.size()) != kNoteOwner || owner.size() != kNoteOwner.size() + 1) return;
  if (type != kNoteType) {
    throw Rejection{"bad note", "its medley note is of type " + std::to_string(type) +
                                    ", this medley reads type " + std::to_string(kNoteType) +
                                    "; build it again with this medley"};
  }
  if (content.size() > kMaxNoteBytes) throw Rejection{"bad note", "its medley note is larger than 64 KiB"};
  if (ours) throw Rejection{"bad note", "two medley notes: MEDLEY_PLUGIN may stand only once in a plugin"};
  ours = std::string(content);
}

void ReadNotes(const File& file, const Elf64_Phdr& segment, std::optional<std::string>& ours, ElfFile& elf) {
  if (segment.p_filesz > kMaxSegmentBytes) throw Rejection{"bad note", "its notes are larger than 128 KiB"};
  const std::string data = file.Read(segment.p_offset, segment.p_filesz);
  const std::uint64_t align = segment.p_align == 8 ? 8 : 4;
  const auto aligned = [align](std::uint64_t offset) { return (offset + align - 1) / align * align; };
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= data.size()) {
    const auto note = Load<Elf64_Nhdr>(data, at);
    const std::uint64_t owner = at + sizeof(Elf64_Nhdr);
    const std::uint64_t content = aligned(owner + note.n_namesz);
    if (content > data.size() || note.n_descsz > data.size() - content) {
      throw Rejection{"bad note", "a note is longer than its segment"};
    }
    const std::string_view view = data;
    TakeNote(view.substr(owner, note.n_namesz), note.n_type, view.substr(content, note.n_descsz), ours, elf);
    at = aligned(content + note.n_descsz);
  }
}

// Where the bytes that will be at an address lie in the file.
std::optional<std::uint64_t> FileOffset(const std::vector<Elf64_Phdr>& headers, std::uint64_t address) {
  for (const Elf64_Phdr& segment : headers) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);  // inside the file, and that is at most 1 GiB
    }
  }
  return std::nullopt;
}

void ReadNeeded(const File& file, const std::vector<Elf64_Phdr>& headers, const Elf64_Phdr& segment,
                ElfFile& elf) {
  if (segment.p_filesz > kMaxSegmentBytes) NotAPlugin("its dynamic section makes no sense");
  const std::string data = file.Read(segment.p_offset, segment.p_filesz);
  std::vector<std::uint64_t> names;
  std::uint64_t strings = 0;
  std::optional<std::uint64_t> run_path;
  for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= data.size(); at += sizeof(Elf64_Dyn)) {
    const auto entry = Load<Elf64_Dyn>(data, at);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_NEEDED && names.size() < kMaxNeeded) names.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) run_path = entry.d_un.d_val;
  }
  const std::optional<std::uint64_t> table = FileOffset(headers, strings);
  const auto text = [&](std::uint64_t at, std::size_t most) {
    if (!table || !file.Contains(*table, at)) NotAPlugin("its table of names makes no sense");
    return std::string(file.ReadSome(*table + at, most).c_str());
  };
  for (const std::uint64_t name : names) elf.needed.push_back(text(name, kMaxNameBytes));
  if (run_path) elf.run_path = text(*run_path, kMaxRunPathBytes);
}

}  // namespace

ElfFile ReadNeeds(const std::filesystem::path& path) {
  ElfFile elf;
  try {
    File file(path);
    file.Identify();
    const std::vector<Elf64_Phdr> headers = ReadProgramHeaders(file);
    for (const Elf64_Phdr& segment : headers) {
      if (segment.p_type == PT_DYNAMIC) ReadNeeded(file, headers, segment, elf);
    }
  } catch (const Rejection&) {
    return {};
  }
  return elf;
}

std::string ReadBuildId(const std::filesystem::path& path) {
  try {
    File file(path);
    ElfFile elf;
    elf.identity = file.Identify();
    std::optional<std::string> note;
    for (const Elf64_Phdr& segment : ReadProgramHeaders(file)) {
      if (segment.p_type == PT_NOTE) ReadNotes(file, segment, note, elf);
    }
    return elf.build_id;
  } catch (const Rejection&) {
    return "";
  }
}

ElfFile ReadElfFile(const std::filesystem::path& path) {
  File file(path);
  ElfFile elf;
  elf.identity = file.Identify();
  const std::vector<Elf64_Phdr> headers = ReadProgramHeaders(file);
  std::optional<std::string> note;
  bool program = false;
  for (const Elf64_Phdr& segment : headers) {
    if (segment.p_type == PT_NOTE) ReadNotes(file, segment, note, elf);
    if (segment.p_type == PT_DYNAMIC) ReadNeeded(file, headers, segment, elf);
    program = program || segment.p_type == PT_INTERP;
  }
  if (!note && program) NotAPlugin("a program, not a plugin");
  if (!note) {
    throw Rejection{"not a plugin",
                    "a shared library without a medley note; a plugin ends with MEDLEY_PLUGIN(...)",
                    /*claims=*/false};
  }
  elf.note = std::move(*note);
  return elf;
}

}  // namespace medley
