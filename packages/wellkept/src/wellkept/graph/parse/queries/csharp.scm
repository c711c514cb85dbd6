[(class_declaration) (struct_declaration) (record_declaration) (enum_declaration)] @class
(interface_declaration) @interface
[(method_declaration) (constructor_declaration) (local_function_statement)] @function
(using_directive) @import
(invocation_expression function: (_) @call)
(object_creation_expression type: (_) @call)
(base_list [(identifier) (qualified_name)] @extends)
(base_list (generic_name (identifier) @extends))
(variable_declaration) @bind
(parameter) @bind
(property_declaration) @bind
