(function_definition) @function
(class_definition) @class
[(import_statement) (import_from_statement)] @import
(call function: [(identifier) (attribute)] @call)
(decorator [(identifier) (attribute)] @call)
(class_definition superclasses: (argument_list [(identifier) (attribute)] @extends))
(class_definition superclasses: (argument_list (subscript value: (_) @extends)))
(class_definition superclasses: (argument_list (keyword_argument value: [(identifier) (attribute)] @extends)))
(assignment left: [(identifier) (attribute)] right: [(call) (await (call))]) @bind
(assignment left: (attribute) right: (identifier)) @alias
(as_pattern [(call) (await) (identifier) (attribute)] alias: (as_pattern_target (identifier))) @bind
(assignment left: [(identifier) (attribute)] type: (type)) @bind
(typed_parameter) @bind
(typed_default_parameter) @bind
(named_expression name: (identifier) value: (call)) @bind
(assignment left: (identifier) @local right: [(identifier) (attribute) (subscript) (lambda) (conditional_expression) (boolean_operator)])
(parameters [(identifier) @local (default_parameter name: (identifier) @local)])
(for_statement left: (identifier) @local)
(as_pattern_target (identifier) @local)
(assignment left: (identifier) @export right: [(list) (tuple)])
(assignment left: (identifier) right: (attribute)) @bound
(argument_list [(identifier) (attribute)] @handed)
(keyword_argument value: [(identifier) (attribute)] @handed)
(assignment right: [(identifier) (attribute)] @handed)
(return_statement [(identifier) (attribute)] @handed)
(pair value: [(identifier) (attribute)] @handed)
(list [(identifier) (attribute)] @handed)
(tuple [(identifier) (attribute)] @handed)
