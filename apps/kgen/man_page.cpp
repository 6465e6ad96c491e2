#include "man_page.hpp"

#include <fmt/format.h>

#include "help.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

/// Escapes a text for roff: backslashes, dashes, and characters that begin a request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  if (!result.empty() && (result.front() == '.' || result.front() == '\'')) result.insert(0, "\\&");
  return result;
}

std::string synopsis(const Command& command) {
  auto text = ".B kgen " + roff(command.name) + "\n[\\fIOPTIONS\\fR]\n";
  for (const auto& option : command.options) {
    if (option.is_argument())
      text += "\\fI" + roff(option.name) + (option.is_repeatable ? "\\fR...\n" : "\\fR\n");
    else if (option.is_required)
      text += "\\fB" + roff(option.name) + "\\fR \\fI" + roff(option.value_name) + "\\fR\n";
  }
  return text;
}

std::string describe(const Command& command) {
  std::string text = ".SS kgen " + roff(command.name) + '\n' + roff(command.summary) + ".\n.PP\n" + synopsis(command);
  for (const auto& group : group_options(command)) {
    if (group.name != "Options" && group.name != "Arguments") text += ".PP\n" + roff(group.name) + ":\n";
    for (const auto* option : group.options)
      text += ".TP\n.B " + roff(describe_usage(*option)) + '\n' + roff(describe_option(command, *option)) + '\n';
  }
  return text;
}

constexpr std::string_view k_configuration = R"(.SH CONFIGURATION
Options may be set in two files in TOML. Keys are the names of options without their dashes; they stand in a section for
a command, or above all sections for every command that has them.
.PP
.in +4n
.nf
cache\-dir = "/scratch/kgen"
[run]
llm = "openai:gpt\-5"
seeds = 4
.fi
.in
.PP
.I ~/.config/kgen/config.toml
is yours and may set every option.
.I kgen.toml
in the folder of a task may set what shapes a search, and nothing that starts programs, writes files, spends money or
makes a verdict weaker. The command line wins over the environment, that over the task's file, and that over yours.
\-\-print\-config shows each value with the place that it came from.
)";

constexpr std::string_view k_environment = R"(.SH ENVIRONMENT
.TP
.B KGEN_PYTHON
The Python that has torch.
.TP
.B KERNELBENCH_DIR
A KernelBench checkout, for tasks by name (level3/40), or the folder of a level.
.TP
.B OPENAI_API_KEY, OPENAI_BASE_URL
The key and the server for \-\-llm openai:MODEL.
.TP
.B LLM_GATEWAY_KEY, LLM_GATEWAY_URL, LLM_GATEWAY_MODEL
Key, server and model for \-\-llm gateway.
.TP
.B NUM_SAMPLES, MAX_ATTEMPTS
\-\-samples and \-\-attempts of kgen batch.
.TP
.B XDG_CACHE_HOME, XDG_CONFIG_HOME
Where the cache (kernelgen) and the configuration (kgen/config.toml) are.
.TP
.B NO_COLOR, COLUMNS
No colors; the width of the terminal.
)";

}  // namespace

std::string render_man_page(std::string_view version, const std::vector<Command>& commands) {
  auto text = fmt::format(".TH KGEN 1 \"\" \"kernelgen {}\" \"User Commands\"\n", version);
  text += ".SH NAME\nkgen \\- has language models write kernels that replace PyTorch modules, and judges them\n";
  text += ".SH SYNOPSIS\n.B kgen\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  text += ".SH COMMANDS\n";
  for (const auto& command : commands)
    if (!command.is_hidden) text += describe(command);
  text += k_configuration;
  text += k_environment;
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_code_meanings())
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(code), roff(meaning));
  text += ".SH SEE ALSO\nThe manual in share/doc/kernelgen/docs, beginning with README.md.\n";
  return text;
}

}  // namespace kernelgen::cli
