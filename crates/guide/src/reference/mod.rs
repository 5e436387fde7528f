//! The reference of the interface: pages made of the OpenAPI document.

mod operation;
mod schema;

use crate::{
    links::ROOT,
    markdown,
    search::{Index, Query, SearchEntry},
};
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

/// The operations of a document.
#[derive(Debug)]
pub(crate) struct Reference {
    document: Value,
    operations: Vec<Operation>,
    index: OnceLock<Index>,
}

/// Where an operation stands in the document, and how lists show it.
#[derive(Clone, Debug)]
struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    tag: String,
    is_deprecated: bool,
}

impl Operation {
    fn read(path: &str, method: &str, operation: &Value) -> Operation {
        let text = |key: &str| operation[key].as_str().unwrap_or_default().to_owned();
        Operation {
            id: text("operationId"),
            method: method.to_owned(),
            path: path.to_owned(),
            summary: text("summary"),
            tag: operation["tags"][0].as_str().unwrap_or_default().to_owned(),
            is_deprecated: operation["deprecated"] == true,
        }
    }

    fn href(&self) -> String {
        format!("{ROOT}/operations/{}", self.id)
    }

    fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "href": self.href(),
            "method": self.method.to_uppercase(),
            "path": self.path,
            "summary": self.summary,
            "is_deprecated": self.is_deprecated,
        })
    }
}

impl Reference {
    pub(crate) fn new(document: Value) -> Reference {
        let none = Map::new();
        let paths = document["paths"].as_object().unwrap_or(&none);
        let of_path = |(path, item): (&String, &Value)| {
            let item = item.as_object().into_iter().flatten();
            item.map(|(method, found)| Operation::read(path, method, found)).collect::<Vec<_>>()
        };
        let operations = paths.iter().flat_map(of_path).collect();
        Reference { document, operations, index: OnceLock::new() }
    }

    fn find(&self, operation: &Operation) -> &Value {
        &self.document["paths"][&operation.path][&operation.method]
    }

    fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        let tags = self.document["tags"].as_array().into_iter().flatten();
        tags.filter_map(|tag| Some((tag["name"].as_str()?, tag["description"].as_str().unwrap_or_default())))
    }

    /// What the list of operations is rendered from; of those that have all words of the text, if there is one.
    pub(crate) fn list(&self, text: &str) -> Value {
        let group = |(tag, about): (&str, &str)| {
            let operations = self.operations.iter().filter(|operation| operation.tag == tag);
            let operations: Vec<Value> = operations.map(Operation::shown).collect();
            json!({"tag": tag, "anchor": anchor(tag), "about": markdown::short(about), "operations": operations})
        };
        let query = Query::read(text);
        let found = self.index().find(&query);
        let found = found.iter().filter_map(|number| self.operations.get(*number)).map(Operation::shown);
        json!({
            "version": self.document["info"]["version"],
            "count": self.operations.len(),
            "groups": self.tags().map(group).collect::<Vec<_>>(),
            "is_search": !text.trim().is_empty(),
            "found": found.collect::<Vec<_>>(),
        })
    }

    /// What the page of an operation is rendered from.
    pub(crate) fn operation(&self, id: &str) -> Option<Value> {
        let operation = self.operations.iter().find(|operation| operation.id == id)?;
        let mut context = operation::context(&self.document, self.find(operation));
        let siblings = self.operations.iter().filter(|other| other.tag == operation.tag);
        let siblings: Vec<Value> = siblings.map(Operation::shown).collect();
        context["operation"] = operation.shown();
        context["siblings"] = json!(siblings);
        context["tag"] = json!(operation.tag);
        context["anchor"] = json!(anchor(&operation.tag));
        Some(context)
    }

    /// The operations, in the order of the document.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            Index::new(self.operations.iter().map(|operation| self.entry(operation)).collect())
        })
    }

    fn entry(&self, operation: &Operation) -> SearchEntry {
        let operation_object = self.find(operation);
        let texts = |list: &Value, key: &str| {
            let list = list.as_array().into_iter().flatten();
            let texts = list.filter_map(|one| if key.is_empty() { one.as_str() } else { one[key].as_str() });
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        let Operation { id, method, path, summary, tag, .. } = operation;
        let more = [
            vec![id.clone(), tag.clone()],
            texts(&operation_object["parameters"], "name"),
            texts(&operation_object["parameters"], "description"),
            texts(&operation_object["x-permissions"], ""),
            texts(&operation_object["x-permissions-one-of"], ""),
        ];
        let description = operation_object["description"].as_str().unwrap_or_default();
        SearchEntry {
            href: operation.href(),
            title: summary.clone(),
            heading: format!("{} {path}", method.to_uppercase()),
            text: markdown::plain(description),
            more: more.concat().join(" "),
        }
    }
}

fn anchor(tag: &str) -> String {
    format!("tag-{}", tag.replace(' ', "-"))
}
