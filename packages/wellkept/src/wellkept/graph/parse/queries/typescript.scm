(function_declaration) @function
(generator_function_declaration) @function
(method_definition) @function
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)]) @function
(public_field_definition name: (property_identifier) value: [(arrow_function) (function_expression)]) @function
(class_declaration) @class
(class) @class
(class_heritage (extends_clause value: (_) @extends))
(class_heritage (implements_clause [(type_identifier) (nested_type_identifier)] @implements))
(class_heritage (implements_clause (generic_type name: (_) @implements)))
(interface_declaration (extends_type_clause [(type_identifier) (nested_type_identifier)] @extends))
(interface_declaration (extends_type_clause (generic_type name: (_) @extends)))
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) @_name arguments: (arguments . (comment)* . [(string) (template_string)]) (#eq? @_name "require")) @import
(call_expression function: (import) arguments: (arguments . (comment)* . [(string) (template_string)])) @import
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(variable_declarator name: (identifier) value: [(call_expression) (new_expression) (await_expression)]) @bind
(assignment_expression left: (member_expression object: (this)) right: (new_expression)) @bind
(assignment_expression left: (member_expression object: (this)) right: (identifier)) @alias
(required_parameter pattern: (identifier) @local)
(required_parameter pattern: (identifier) type: (type_annotation)) @bind
(optional_parameter pattern: (identifier) type: (type_annotation)) @bind
(public_field_definition name: (property_identifier) type: (type_annotation)) @bind
(public_field_definition name: (property_identifier) value: (new_expression)) @bind
(variable_declarator name: (identifier) type: (type_annotation)) @bind
(export_statement) @export
(assignment_expression left: (member_expression)) @export
(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @interface
(enum_declaration) @class
(internal_module) @module
(function_signature) @function
(abstract_method_signature) @function
(method_signature) @function
(import_alias) @import
(module name: (string)) @import
(variable_declarator name: (identifier) value: (member_expression)) @bound
(arguments [(identifier) (member_expression)] @handed)
(pair value: [(identifier) (member_expression)] @handed)
(variable_declarator value: [(identifier) (member_expression)] @handed)
(assignment_expression right: [(identifier) (member_expression)] @handed)
(return_statement [(identifier) (member_expression)] @handed)
(array [(identifier) (member_expression)] @handed)
