"""The code that prompts show: templates with their sections kept or left out, and what is fenced in them."""

import re


def rendered(text, true, values=()):
    """The text with its sections kept or left out, and these values. A section has no other of its own name inside."""
    section = re.compile(r"\{\{([#^])(\w+)\}\}\n?(.*?)\{\{/\2\}\}\n?", re.DOTALL)
    inline = re.compile(r"\{\{([#^])(\w+)\}\}([^\n]*?)\{\{/\2\}\}")

    def chosen(match):
        return match[3] if (match[2] in true) == (match[1] == "#") else ""

    while section.search(text):
        text = section.sub(chosen, inline.sub(chosen, text))
    for name, value in dict(values).items():
        text = text.replace("{{" + name + "}}", value)
    return text


def fenced(text, tag=r"\w+"):
    return re.findall(rf"^```{tag}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
