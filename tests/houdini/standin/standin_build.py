"""The part of the STAND-IN for hou that makes assets; see hou.py for what a stand-in is and is not.

Every class takes the arguments and has the methods that the documentation of the Houdini Object
Model gives it and that hda/build.py uses. add_to(hou) puts them into the module.
"""

from types import SimpleNamespace


class ParmTemplate:
    """What all templates have; setters keep what they are given."""

    def __init__(self, name, label):
        self.name, self.label = name, label
        self.help, self.tags, self.join, self.hidden, self.rules = None, {}, False, False, {}
        self.callback = self.callback_language = None

    def setHelp(self, text):
        self.help = text

    def setTags(self, tags):
        assert all(isinstance(k, str) and isinstance(v, str) for k, v in tags.items())
        self.tags = dict(tags)

    def setJoinWithNext(self, on):
        self.join = on

    def hide(self, on):
        self.hidden = on

    def setConditional(self, kind, text):
        self.rules[kind] = text

    def setScriptCallback(self, text):
        self.callback = text

    def setScriptCallbackLanguage(self, language):
        self.callback_language = language


class NumberTemplate(ParmTemplate):
    def __init__(self, name, label, num_components, default_value=()):
        super().__init__(name, label)
        self.size, self.default = num_components, default_value
        assert len(default_value) == num_components
        assert all(isinstance(v, self.number) for v in default_value)
        self.expressions = self.languages = self.scheme = None
        self.low = self.high = self.low_hard = self.high_hard = None

    def setDefaultExpression(self, texts):
        assert len(texts) == self.size
        self.expressions = texts

    def setDefaultExpressionLanguage(self, languages):
        assert len(languages) == self.size
        self.languages = languages

    def setMinValue(self, value):
        assert isinstance(value, self.number)
        self.low = value

    def setMaxValue(self, value):
        assert isinstance(value, self.number)
        self.high = value

    def setMinIsStrict(self, on):
        self.low_hard = on

    def setMaxIsStrict(self, on):
        self.high_hard = on

    def setNamingScheme(self, scheme):
        self.scheme = scheme


class FloatParmTemplate(NumberTemplate):
    number = float


class IntParmTemplate(NumberTemplate):
    number = int


class ToggleParmTemplate(ParmTemplate):
    def __init__(self, name, label, default_value=False):
        super().__init__(name, label)
        self.default = default_value


class MenuParmTemplate(ParmTemplate):
    def __init__(self, name, label, menu_items, menu_labels=(), default_value=0):
        super().__init__(name, label)
        self.menu, self.default = list(zip(menu_items, menu_labels)), default_value


class ButtonParmTemplate(ParmTemplate):
    pass


class StringParmTemplate(ParmTemplate):
    def __init__(self, name, label, num_components, default_value=(), string_type=None):
        super().__init__(name, label)
        self.default, self.string_type, self.file_type = default_value, string_type, None

    def setFileType(self, kind):
        self.file_type = kind


class FolderParmTemplate(ParmTemplate):
    def __init__(self, name, label, parm_templates=(), folder_type=None):
        super().__init__(name, label)
        self.children, self.folder_type = parm_templates, folder_type
        self.tab_rules = {}

    def setTabConditional(self, kind, text):
        self.tab_rules[kind] = text


class ParmTemplateGroup:
    def __init__(self):
        self.folders = []

    def append(self, template):
        self.folders.append(template)


class Definition:
    """What was made of an asset, for tests to look at."""

    def __init__(self, node, arguments):
        self.node, self.arguments = node, arguments
        self.group, self.sections, self.options, self.icon, self.saved = None, {}, {}, None, None

    def setParmTemplateGroup(self, group):
        self.group = group

    def addSection(self, name, contents):
        self.sections[name] = contents

    def setExtraFileOption(self, name, value):
        self.options[name] = value

    def setIcon(self, icon):
        self.icon = icon

    def save(self, path):
        self.saved = path


class BuildNode:
    def __init__(self, kind, name):
        self.kind, self.name, self.made, self.inputs, self.code = kind, name, [], {}, None
        self.destroyed = False

    def createNode(self, kind, name):
        child = BuildNode(kind, name)
        self.made.append(child)
        return child

    def children(self):
        return tuple(self.made)

    def destroy(self):
        self.destroyed = True

    def parm(self, name):
        assert name == "python"
        return SimpleNamespace(set=lambda text: setattr(self, "code", text))

    def indirectInputs(self):
        return ("in1", "in2", "in3", "in4")

    def setInput(self, index, item):
        self.inputs[index] = item

    def setDisplayFlag(self, on):
        pass

    def createDigitalAsset(self, name, hda_file_name, description, min_num_inputs,
                           max_num_inputs):
        definition = Definition(self, {
            "name": name, "file": hda_file_name, "label": description, "least": min_num_inputs,
            "most": max_num_inputs})
        definitions.append(definition)
        return SimpleNamespace(type=lambda: SimpleNamespace(definition=lambda: definition))


definitions = []
collapsed = []


def add_to(hou):
    for made in (FloatParmTemplate, IntParmTemplate, ToggleParmTemplate, MenuParmTemplate,
                 ButtonParmTemplate, StringParmTemplate, FolderParmTemplate, ParmTemplateGroup):
        setattr(hou, made.__name__, made)
    hou.parmCondType = SimpleNamespace(HideWhen="hidewhen", DisableWhen="disablewhen")
    hou.scriptLanguage = SimpleNamespace(Hscript="Hscript", Python="Python")
    hou.stringParmType = SimpleNamespace(FileReference="file", NodeReference="oppath",
                                         Regular="string")
    hou.fileType = SimpleNamespace(Directory="directory")
    hou.folderType = SimpleNamespace(Tabs="group", MultiparmBlock="multiparm",
                                     Collapsible="groupcollapsible")
    hou.parmNamingScheme = SimpleNamespace(XYZW="XYZW")
    hou.hda = SimpleNamespace(
        collapseFromDirectory=lambda file, folder: collapsed.append((file, folder)))
    hou.node = lambda path: BuildNode("obj", path)
